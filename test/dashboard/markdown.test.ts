import type { ComponentChildren, VNode } from "preact";
import { describe, expect, test } from "vitest";
import { CopyButton } from "../../src/dashboard/parts/copy-button.tsx";
import { markdown } from "../../src/dashboard/parts/markdown.tsx";
import { fc, runs } from "../support/property.ts";

describe("Markdown of a model", () => {
	test("knows paragraphs, headings, lists, quotes, rules and code", () => {
		const text = "# Head\n\nOne\ntwo\n\n- a\n  - b\n1. c\n> q\n\n---\n```ts\nx **y**\n```\nend";
		expect(html(text)).toBe(
			"<h3>Head</h3><p>One\ntwo</p><ul><li>a<ul><li>b</li></ul></li></ul><ol start=1><li>c</li></ol>" +
				"<blockquote><p>q</p></blockquote><hr>" +
				"<div class=code-block><span class=code-language>ts</span><pre>x **y**</pre></div><p>end</p>",
		);
	});

	test("a fence that is still being written is code to its end", () => {
		expect(html("```\na\nb")).toBe("<div class=code-block><pre>a\nb</pre></div>");
	});

	test("a table has its columns, aligned as they are written", () => {
		const table = "| a | b |\n|:--|--:|\n| x \\| - | **2** |";
		expect(html(table)).toContain(
			'<thead><tr><th style={"textAlign":"left"}>a</th><th style={"textAlign":"right"}>b</th></tr></thead>',
		);
		expect(html(table)).toContain('<td style={"textAlign":"left"}>x | -</td>');
		expect(html(table)).toContain('<td style={"textAlign":"right"}><strong>2</strong></td>');
	});

	test("a table that is still being written is text until its second line is there", () => {
		expect(html("| a | b |")).toBe("<p>| a | b |</p>");
		expect(html("| a | b |\n|---|--")).toContain("<th style={}>a</th>");
	});

	test("an ordered list begins with its number, and its items hold other blocks", () => {
		expect(html("3. a\n4. b\n\n   c\n\n   ```\n   d\n   ```")).toBe(
			"<ol start=3><li><p>a</p></li><li><p>b</p><p>c</p><div class=code-block><pre>d</pre></div></li></ol>",
		);
		expect(html("- [x] a\n- [ ] b")).toBe("<ul><li>☑ a</li><li>☐ b</li></ul>");
	});

	test("headings have the level that they are written with, below those of the page", () => {
		expect(html("# a\n## b\n### c\n#### d\n##### e\n")).toBe(
			"<h3>a</h3><h4>b</h4><h5>c</h5><h6>d</h6><h6>e</h6>",
		);
	});

	test("knows code, bold, emphasis and links within a line", () => {
		expect(html("a `b*c*` **d** *e* [f](https://x.org/y) https://z.org ***g*** ~~h~~")).toBe(
			"<p>a <code>b*c*</code> <strong>d</strong> <em>e</em> " +
				`${link("https://x.org/y", "f")}<span class=soft> (x.org)</span> ${link("https://z.org/", "https://z.org")} ` +
				"<em><strong>g</strong></em> <del>h</del></p>",
		);
	});

	test("a picture is a link: showing it would ask another site", () => {
		expect(html("![a](https://x.org/i.png)")).toBe(
			`<p>${link("https://x.org/i.png", "a")}<span class=soft> (x.org)</span></p>`,
		);
	});

	test.each([
		"[x](javascript:alert(1))",
		"[x](JavaScript:alert(1))",
		"![x](data:image/svg+xml,y)",
		"[x](data:text/html,y)",
		"[x](/here)",
		"[x](http://)",
		"<javascript:alert(1)>",
		"<b>x</b>",
		"<img src=x onerror=alert(1)>",
		"<script>\nalert(1)\n</script>",
		"<!-- hidden -->",
		"a@b.org",
		"&lt;b&gt;",
		"[x]: /here",
		"snake_case_name",
		"2*3*4",
	])("%s stays text", (text) => {
		expect(html(text)).toBe(`<p>${text}</p>`);
	});

	test.each([">>\na", "> >\nb\nc", "| a | b |\n|---|---|\n| 1 | x|y |"])(
		"no line of %j is lost",
		(text) => {
			expect(html(text)).toBe(`<p>${text}</p>`);
		},
	);

	test("a quote around one that marked cannot read is a quote", () => {
		expect(html(">>>\na")).toBe("<blockquote><p>>>\na</p></blockquote>");
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
			":",
			"<",
			"https://h.io/",
		);
		fc.assert(
			fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
				const shown = html(text);
				expect(shown.match(/href=(?!https?:)/)).toBeNull();
				const count = (given: string) => given.replaceAll(/[^a]/g, "").length;
				const words = shown.replaceAll(/<(?!\/)[a-z][^<>]*>|<\/[a-z0-9]+>/g, "");
				expect(count(words)).toBeGreaterThanOrEqual(count(withoutMarks(text)));
			}),
			{ numRuns: runs(1_000) },
		);
	});

	test.each([
		"*",
		"`a",
		"[",
		"> ",
		"- ",
		"1. ",
		"> - ",
		">>>>\na\n",
		"|a|b|\n|-|-|\n|1|2|3|\n",
		"**a",
		"_a ",
		"~a ",
		"[a](",
		"\\[",
		"*_",
		"|a",
	])("%j many times over is read in full, with bounded nesting", (part) => {
		const shown = html(part.repeat(20_000 / part.length));
		expect(shown.length).toBeGreaterThan(0);
		expect(depthOf(shown)).toBeLessThanOrEqual(12);
	});

	test("a paragraph that is read in pieces is whole", () => {
		const text = "word **bold** ".repeat(2_000).trim();
		expect(html(text)).toBe(`<p>${text.replaceAll(/\*\*(\w+)\*\*/g, "<strong>$1</strong>")}</p>`);
		const pairs = "😀".repeat(3_001);
		expect(html(`x${pairs}`)).toBe(`<p>x${pairs}</p>`);
	});
});

/** Marks that Markdown takes, with what stands behind them: languages and addresses of links. */
function withoutMarks(text: string): string {
	return text.replaceAll(/^.*`{3,}.*$/gm, "").replaceAll(/\([^)]*\)?|<[^>]*>/g, "");
}

/** How deep lists and quotes are nested. */
function depthOf(shown: string): number {
	let depth = 0;
	let most = 0;
	for (const [tag] of shown.matchAll(/<\/?(?:blockquote|ul|ol)\b/g)) {
		depth += tag.startsWith("</") ? -1 : 1;
		most = Math.max(most, depth);
	}
	return most;
}

function link(href: string, text: string): string {
	return `<a href=${href} target=_blank rel=noopener noreferrer>${text}</a>`;
}

/** The drawn elements in short: attributes without quotes, text without escapes. */
function html(text: string): string {
	return written(markdown(text));
}

function written(node: ComponentChildren): string {
	if (node === null || node === undefined || typeof node === "boolean") return "";
	if (typeof node !== "object") return String(node);
	if (Array.isArray(node)) return node.map(written).join("");
	const { type, props } = node as VNode<{ children?: ComponentChildren }>;
	if (type === CopyButton) return ""; // has state, which needs a page
	if (typeof type === "function") {
		return written((type as (props: object) => ComponentChildren)(props));
	}
	const { children, ...attributes } = props;
	const shown = Object.entries(attributes).map(
		([name, value]) => ` ${name}=${typeof value === "object" ? JSON.stringify(value) : value}`,
	);
	const inside = written(children);
	return `<${type}${shown.join("")}>${inside}${type === "hr" || type === "br" ? "" : `</${type}>`}`;
}
