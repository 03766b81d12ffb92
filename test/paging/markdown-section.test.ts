import { describe, expect, test } from "vitest";
import { isMarkdown, markdownSection } from "../../src/paging/markdown-section.ts";
import { fc, runs } from "../support/property.ts";

describe("a section of Markdown starts at", () => {
	test.each([
		["its heading", "a\n\n## Read the `API` (v2)\n", "read-the-api-v2", "## Read"],
		["a heading with a link", "## [Get](/x) it\n", "get-it", "## [Get]"],
		["a heading that closes its marks", "a\n## End ##\n", "end", "## End"],
		["a heading in another script", "# a\n## Über Flüsse\n", "über-flüsse", "## Über"],
		["an underlined heading", "a\n\nThe sea\n-------\nb\n", "the-sea", "The sea"],
		["the second heading of the same text", "# A\n# B\n# A\nx", "a-1", "# A\nx"],
		["a heading with an id of its own", "# A\n## B {#other}\n", "other", "## B"],
		["an element with the id", 'a\n<a name="place"></a>\nb', "place", "<a name"],
		["a heading after code that has one", "```\n# A\n```\n# A\nx", "a", "# A\nx"],
		["a heading after an open fence's inner fence", "````\n```\n# A\n````\n# A\nx", "a", "# A\nx"],
	])("%s", (_, text, id, start) => {
		const at = markdownSection(text, id);
		expect(text.slice(at).startsWith(start)).toBe(true);
	});

	test("nothing, if no section has the id", () => {
		expect(markdownSection("# A\n\n```\n# B\n```\n", "b")).toBeUndefined();
		expect(markdownSection("", "b")).toBeUndefined();
	});

	test("a line's start, in any text", () => {
		const lines = fc.array(
			fc.constantFrom("# a", "a", "===", "---", "```", "<p id=a>", "", "~~~~"),
		);
		fc.assert(
			fc.property(lines, (list) => {
				const text = list.join("\n");
				const at = markdownSection(text, "a");
				expect(at === undefined || at === 0 || text[at - 1] === "\n").toBe(true);
			}),
			{ numRuns: runs(300) },
		);
	});
});

test("a text is Markdown by its type or its name", () => {
	expect(isMarkdown("text/markdown; charset=utf-8", "https://e.com/x")).toBe(true);
	expect(isMarkdown("text/plain", "https://e.com/x.md?raw=1")).toBe(true);
	expect(isMarkdown(undefined, "notes.MD")).toBe(true);
	expect(isMarkdown("text/plain", "https://e.com/x.py")).toBe(false);
});
