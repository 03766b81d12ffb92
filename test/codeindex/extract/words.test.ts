import { expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import { identifierWords } from "../../../src/codeindex/extract/identifier-words.ts";
import { fileWords } from "../../../src/codeindex/extract/words.ts";

test.each([
	["getUserName", ["get", "user", "name", "getusername"]],
	["get_user_name", ["get", "user", "name", "getusername"]],
	["HTTPServer2", ["http", "server2", "server", "httpserver2"]],
	["utf8Decoder", ["utf8", "decoder", "utf", "utf8decoder"]],
	["$élan", ["élan"]],
	["word", ["word"]],
	["404", ["404"]],
	["___", []],
	["x".repeat(500), []],
])("an identifier is found whole and by its parts: %s", (identifier, words) => {
	expect(identifierWords(identifier)).toEqual(words);
});

test("a file's words come from its path, from what it declares, and from all of its text", () => {
	const source = `// Comments too\nexport class ReadCache { hitRate = "string words"; }`;
	const facts = extractFacts("src/readCache.ts", source);
	const words = fileWords("src/readCache.ts", source, facts);
	expect(words.path).toBe("src read cache readcache ts");
	expect(words.symbols).toBe("read cache readcache hit rate hitrate");
	expect(words.text.split(" ")).toEqual(
		expect.arrayContaining(["comments", "too", "string", "words", "readcache"]),
	);
});

test("a word that is used often stands there a few times, never often", () => {
	const source = "rare; some; some; some; often;".concat(" often;".repeat(1_000));
	const words = fileWords("a.ts", source, extractFacts("a.ts", source)).text.split(" ");
	const count = (word: string) => words.filter((one) => one === word).length;
	expect([count("rare"), count("some"), count("often")]).toEqual([1, 2, 4]);
});
