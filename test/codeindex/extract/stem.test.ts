import { expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import { stemOf } from "../../../src/codeindex/extract/stem.ts";
import { stemsOf, symbolWords } from "../../../src/codeindex/extract/symbol-words.ts";

test.each([
	"retry retries retried retrying retryable",
	"compact compacts compacted compaction",
	"truncate truncated truncation truncates",
	"parse parses parsed parsing parser",
	"wrap wraps wrapped wrapping",
	"entry entries",
	"class classes",
	"process processes processor",
	"edit editor editing",
])("%s have one stem", (words) => {
	expect(new Set(words.split(" ").map(stemOf)).size).toBe(1);
});

test("short words and words of other scripts stay as they are", () => {
	for (const word of ["is", "bus", "ids", "größer", "用户", "utf8", ""])
		expect(stemOf(word)).toBe(word);
	expect(stemOf("status")).toBe("status");
});

test("stems of a text are those of the parts of its identifiers, each once", () => {
	expect(stemsOf("isRetryableError: retried errors")).toEqual([
		"is",
		"retri",
		"err",
		"isretryableerr",
	]);
});

test("a symbol's words are those of its name, owners, comment and signature", () => {
	const facts = extractFacts(
		"a.ts",
		"/** Reads lines. */\nexport class Reader {\n\t/** Waits for it. */\n\tnextLine(limit: number): Handle {}\n}\n",
	);
	expect(symbolWords(facts.bindings)).toEqual([
		{ name: ["read"], owner: [], doc: ["read", "lin"], signature: ["read"] },
		{
			name: ["next", "lin", "nextlin"],
			owner: ["read"],
			doc: ["wait", "for", "it"],
			signature: ["next", "lin", "nextlin", "limit", "handl"],
		},
	]);
});
