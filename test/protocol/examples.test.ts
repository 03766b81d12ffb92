import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ScriptServer, startScriptServer } from "./script-server.ts";

let server: ScriptServer;

beforeEach(async () => {
	server = await startScriptServer();
});

afterEach(() => server.close());

test("prompt-and-stream prints the answer and leaves no session behind", async () => {
	expect(await run("prompt-and-stream", "Count!")).toBe(
		"one two three four five six seven eight nine ten \n",
	);
	expect(server.executed.at(-1)).toBe("delete_session");
});

test("resume-after-disconnect sees every event over many connections and prompts once", async () => {
	expect(await run("resume-after-disconnect")).toMatch(
		/^11 events without a hole, over [2-9] connections\n$/,
	);
	expect(server.executed.filter((type) => type === "prompt")).toHaveLength(1);
});

test("two-clients shows that of two changes one is refused, and that both see the other", async () => {
	const printed = await run("two-clients");
	expect(printed).toContain("taken: the session is at version 1");
	expect(printed).toContain("refused (version_mismatch): the session is at version 1");
	expect(printed).toMatch(/Bob sees the name "(Ann|Bob)'s"/);
	expect(printed).toContain("Bob sees event 1: session_info_changed");
});

test.each(["prompt-and-stream", "resume-after-disconnect", "two-clients"])(
	"%s without an address says how it is used",
	async (name) => {
		await expect(execute([fileOf(name)])).rejects.toMatchObject({
			code: 2,
			stderr: expect.stringContaining(`usage: node examples/${name}.ts`),
		});
	},
);

async function run(name: string, ...words: string[]): Promise<string> {
	return (await execute([fileOf(name), server.url, ...words])).stdout;
}

function execute(words: string[]): Promise<{ stdout: string; stderr: string }> {
	return promisify(execFile)(process.execPath, words, { timeout: 20_000 });
}

function fileOf(name: string): string {
	return fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url));
}
