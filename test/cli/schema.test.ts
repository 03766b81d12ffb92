import { expect, test } from "vitest";
import type { Terminal } from "../../src/cli/command.ts";
import { schema } from "../../src/cli/schema.ts";
import { configJsonSchema } from "../../src/core/config.ts";
import { protocolJsonSchema } from "../../src/protocol/index.ts";

test("prints the schema of the configuration, by name or without one", async () => {
	expect(JSON.parse(await printed())).toEqual(configJsonSchema());
	expect(await printed("config")).toBe(await printed());
});

test("prints the schema of the protocol", async () => {
	expect(JSON.parse(await printed("protocol"))).toEqual(protocolJsonSchema());
});

test("names what there is when asked for something else", async () => {
	await expect(printed("nothing")).rejects.toThrow(
		'unknown schema "nothing"; use config or protocol',
	);
});

async function printed(...words: string[]): Promise<string> {
	const lines: string[] = [];
	const terminal = { print: (line: string) => lines.push(line) } as unknown as Terminal;
	expect(await schema.run({}, words, terminal)).toBe(0);
	return lines.join("\n");
}
