import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codeTools } from "../../src/code/tool-definitions.ts";
import { commandTypes } from "../../src/protocol/command-table.ts";
import { documentAt, root } from "./documents.ts";

/** Every name of the protocol stands in its schema, as a value or as a field. */
const schema = readFileSync(join(root, "docs/protocol.schema.json"), "utf8");
const tools = new Set<string>(["readcache_refresh", ...codeTools.map(({ name }) => name)]);
/** Said not to be there. */
const gone = new Set(["bypass_cache"]);

test.each(["docs/client-guide.md", "docs/server.md", "docs/quickstart.md", "docs/migration.md"])(
	"%s names commands, events and codes that the protocol has",
	(path) => {
		const named = documentAt(path).codeWords.flatMap(
			(word) => /^([a-z]+(?:_[a-z]+)+)(?=$|[\s{])/.exec(word)?.[1] ?? [],
		);
		const unknown = named.filter(
			(word) =>
				!schema.includes(`"${word}"`) &&
				!tools.has(word) &&
				!gone.has(word) &&
				!word.startsWith("strata_") &&
				!word.startsWith("proxy_"),
		);
		expect(unknown).toEqual([]);
	},
);

test("every frame that a document shows is of a type that the protocol has", () => {
	const frames = ["docs/client-guide.md", "docs/quickstart.md"].flatMap((path) =>
		documentAt(path)
			.blocks.flatMap(({ text }) => text.split("\n"))
			.filter((line) => line.startsWith("{") && !line.includes("…"))
			.map((line) => JSON.parse(line) as { type: string }),
	);
	for (const { type } of frames) expect(schema).toContain(`"${type}"`);
	expect(frames.some(({ type }) => (commandTypes as string[]).includes(type))).toBe(true);
});
