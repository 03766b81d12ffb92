import { describe, expect, test } from "vitest";
import { findFences } from "../../src/paging/chunk.ts";

/** The text with every line that begins within code marked by "·". */
function marked(text: string): string {
	const fences = findFences(text);
	let at = 0;
	const lines = text.split("\n").map((line) => {
		const start = at;
		at += line.length + 1;
		return (fences.encloses(start) ? "·" : "") + line;
	});
	return lines.join("\n");
}

describe("fenced code", () => {
	test.each([
		["is between two fences", "a\n```js\nb\n```\nc", "a\n```js\n·b\n·```\nc"],
		["ends with a fence at least as long", "````\n```\n`````\nc", "````\n·```\n·`````\nc"],
		["ends with a fence of its own mark", "~~~\n```\n~~~\n", "~~~\n·```\n·~~~\n"],
		["ends only with a bare fence", "```\n```js\n``` \nc", "```\n·```js\n·``` \nc"],
		["stands in quotes", "> ```\n> a\n> ```\nc", "> ```\n·> a\n·> ```\nc"],
		["stands in list items", "1. ```\n   a\n   ```\nc", "1. ```\n·   a\n·   ```\nc"],
		["may end with CRLF", "```\r\na\r\n```\r\nc", "```\r\n·a\r\n·```\r\nc"],
		["may reach to the end", "```\na\n```", "```\n·a\n·```"],
		["is not what stands within a sentence", "see ```\nb\n```x```\nc", "see ```\nb\n```x```\nc"],
		["does not begin with a fence nobody closes", "```\na\n\nb", "```\na\n\nb"],
		["is not in a text without any", "a\n\n``b\n", "a\n\n``b\n"],
	])("%s", (_, text, expected) => {
		expect(marked(text)).toBe(expected);
	});

	test.each([
		["fences on one line", "``` ".repeat(2_500_000)],
		["fence lines", "```\n".repeat(2_500_000)],
		["lines with both marks", "x ``` ~~~\n".repeat(1_000_000)],
		["backticks", "`".repeat(10_000_000)],
		["quote marks", `${"> ".repeat(5_000_000)}\`\`\``],
		["newlines", "\n".repeat(10_000_000)],
	])("10 MB of %s are scanned without a stall", (_, text) => {
		// Some 20 ms on an idle machine; what is quadratic would take hours.
		findFences(text);
	});
});
