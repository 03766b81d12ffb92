import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inlinesOf, type MarkdownBlock, markdown } from "../../src/dashboard/parts/markdown.ts";

describe("Markdown of a model", () => {
	test("knows paragraphs, headings, lists, quotes, rules and code", () => {
		const text = "# Head\n\nOne\ntwo\n\n- a\n  - b\n1. c\n> q\n\n---\n```ts\nx **y**\n```\nend";
		expect(markdown(text)).toMatchObject([
			{ kind: "heading" },
			{ kind: "paragraph", inlines: [{ text: "One\ntwo" }] },
			{ kind: "list", items: [{ level: 0, mark: "" }, { level: 1 }, { level: 0, mark: "1." }] },
			{ kind: "quote" },
			{ kind: "rule" },
			{ kind: "code", language: "ts", text: "x **y**" },
			{ kind: "paragraph" },
		]);
	});

	test("a fence that is still being written is code to its end", () => {
		expect(markdown("```\na\nb")).toEqual([{ kind: "code", language: "", text: "a\nb" }]);
	});

	test("a table stays as it was written", () => {
		const table = "| a | b |\n|---|---|\n| 1 | 2 |";
		expect(markdown(table)).toEqual([{ kind: "code", language: "", text: table }]);
	});

	test("knows code, bold, emphasis and links within a line", () => {
		expect(inlinesOf("a `b*c*` **d** *e* [f](https://x.org/y) https://z.org")).toEqual([
			{ kind: "text", text: "a " },
			{ kind: "code", text: "b*c*" },
			{ kind: "text", text: " " },
			{ kind: "strong", text: "d" },
			{ kind: "text", text: " " },
			{ kind: "emphasis", text: "e" },
			{ kind: "text", text: " " },
			{ kind: "link", text: "f", href: "https://x.org/y" },
			{ kind: "text", text: " " },
			{ kind: "link", text: "https://z.org", href: "https://z.org" },
		]);
	});

	test.each([
		"[x](javascript:alert(1))",
		"[x](data:text/html,y)",
		"[x](/here)",
		"<b>x</b>",
		"snake_case_name",
		"2*3*4",
	])("%s stays text", (text) => {
		expect(inlinesOf(text).every(({ kind }) => kind === "text")).toBe(true);
	});

	test("no letter or digit is lost, and links lead to http only", () => {
		const unit = fc.constantFrom(
			"a",
			"1",
			" ",
			"\n",
			"*",
			"_",
			"`",
			"#",
			"-",
			">",
			"|",
			"[",
			"]",
			"(",
			")",
			"https://h.io/",
		);
		fc.assert(
			fc.property(fc.string({ unit }), (text) => {
				const blocks = markdown(text);
				const hrefs = blocks
					.flatMap(inlinesIn)
					.flatMap((inline) => (inline.kind === "link" ? [inline.href] : []));
				expect(hrefs.every((href) => /^https?:/.test(href))).toBe(true);
				const count = (given: string) => given.replaceAll(/[^a]/g, "").length;
				expect(count(JSON.stringify(blocks.map(wordsIn)))).toBeGreaterThanOrEqual(
					count(text.replaceAll(FENCE_LINE, "")),
				);
			}),
		);
	});

	test("takes text that is made to be slow in its stride", () => {
		for (const nasty of [
			"*".repeat(40_000),
			"`a".repeat(20_000),
			"[".repeat(40_000),
			"> ".repeat(20_000),
			"**a".repeat(13_000),
			"_a ".repeat(13_000),
		]) {
			expect(markdown(nasty).length).toBeGreaterThan(0);
		}
	});
});

/** What stands behind a fence names its language. */
const FENCE_LINE = /^ {0,3}(`{3,}|~{3,}).*$/gm;

function inlinesIn(block: MarkdownBlock) {
	if ("inlines" in block) return block.inlines;
	return block.kind === "list" ? block.items.flatMap(({ inlines }) => inlines) : [];
}

function wordsIn(block: MarkdownBlock): string {
	if (block.kind === "code") return block.text;
	return inlinesIn(block)
		.map((inline) => (inline.kind === "link" ? inline.text : inline.text))
		.join("");
}
