import { describe, expect, test } from "vitest";
import { linearHtmlToMarkdown } from "../../../src/paging/extract/linear-html.ts";
import { readPageTree } from "../../../src/paging/extract/page-tree.ts";
import { fc, runs } from "../../support/property.ts";
import { htmlSoup } from "./html-soup.ts";

const baseUrl = "https://example.com/docs/page.html";

function markdown(html: string): string {
	return linearHtmlToMarkdown(html, { baseUrl }).markdown;
}

describe("text", () => {
	test.each([
		["white space collapses", "<p>one\n  two\t three</p>", "one two three"],
		["paragraphs are apart", "<p>one</p><p>two</p>", "one\n\ntwo"],
		["paragraphs need no end tag", "<p>one<p>two", "one\n\ntwo"],
		["one break is a line, two a paragraph", "a<br>b<br><br/>c", "a\nb\n\nc"],
		["headings of all levels", "<h1>A</h1><h3>B</h3><p>c", "# A\n\n### B\n\nc"],
		["a heading in pieces is one line", "<h2><span>A<br>b</span></h2>", "## A b"],
		["an empty heading leaves nothing behind", "<h2></h2><p>text</p>", "text"],
		["marks", "<b>a</b> <em>b</em> <del>c</del>", "**a** *b* ~~c~~"],
		["marks hug the text, not the space", "a<b> b </b>c", "a **b** c"],
		["marks around nothing are none", "a<b></b><i> </i>b", "a b"],
		["marks that overlap are nested", "<b>a<i>b</b>c</i>", "**a*b****c*"],
		["an open mark ends with its paragraph", "<p><b>a<p>b", "**a**\n\nb"],
		["powers stay powers", "10<sup>6</sup> H<sub>2</sub>O", "10^6 H_2O"],
		["a rule", "a<hr>b", "a\n\n---\n\nb"],
		["quotations", "<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n\n> b\n\nc"],
		["characters nobody sees", "a\0b&shy;c\u200bd&nbsp;e", "abcd e"],
		["a fence in text is no fence", "<p>```js", "\\```js"],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});

	test("character references are replaced once", () => {
		expect(
			markdown("&lt;3 &amp;amp; &#233; &#xE9; &eacute; &hellip; &#150; &amp &bogus; &#0;"),
		).toBe("<3 &amp; é é é … – & &bogus; \ufffd");
	});

	test("what looks like a tag in the text does not become one", () => {
		expect(markdown("<p>&lt;script&gt; and &lt;<i></i>b&gt; but a < b and 1<2")).toBe(
			"&lt;script> and &lt;b> but a < b and 1<2",
		);
	});
});

describe("links and images", () => {
	test.each([
		["relative", '<a href="../a b?c=1&amp;d">x</a>', "[x](https://example.com/a%20b?c=1&d)"],
		["absolute", "<a href=https://other.org/(1)>x</a>", "[x](https://other.org/%281%29)"],
		["base", '<base href="/up/"><a href="x">y</a>', "[y](https://example.com/up/x)"],
		[
			"the first base only",
			'<base target="_top"><base href="/up/"><base href="more/"><a href="x">y</a>',
			"[y](https://example.com/up/x)",
		],
		["text that is the address", "<a href='https://a.org/'>https://a.org/</a>", "https://a.org/"],
		["a place on the page", '<a href="#a">x</a> <a href="page.html#b">y</a>', "x y"],
		["a sign that links to a heading", '<h2>T <a href="#t">¶</a></h2>', "## T"],
		["scripts", '<a href="java\nscript:alert(1)">x</a>', "x"],
		["without text", '<a href="/x"></a>y', "y"],
		[
			"around blocks",
			'<a href="/x"><div><h3>T</h3><p>d</p></div></a>',
			"### [T](https://example.com/x)\n\nd",
		],
		[
			"inside each other",
			"<a href=/x>a<a href=/y>b</a></a>",
			"[a](https://example.com/x)[b](https://example.com/y)",
		],
		["image", '<img src="i.png" alt="a [b]">', "![a \\[b\\]](https://example.com/docs/i.png)"],
		[
			"image in a link",
			'<a href=/x><img src=/i alt=""></a>',
			"[![](https://example.com/i)](https://example.com/x)",
		],
		[
			"image loaded late",
			'<img src="data:image/gif;base64,R0" data-src="/i" alt=a>',
			"![a](https://example.com/i)",
		],
		["image without address", '<img alt="just words">', "just words"],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});

	test("a base address of any length does not multiply the page", () => {
		const html = "<a href=x>y</a> ".repeat(5000);
		const base = `https://example.com/${"p".repeat(1500)}/`;
		const { markdown } = linearHtmlToMarkdown(html, { baseUrl: base });
		expect(markdown.length).toBeLessThan(6 * html.length + 70_000);
	});
});

describe("lists", () => {
	test.each([
		["bullets", "<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"],
		["numbers", '<ol start="9"><li>a</li><li>b</li></ol>', "9. a\n10. b"],
		["inside each other", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"],
		["paragraphs in an item", "<ol><li><p>a</p><p>b</p></li></ol>", "1. a\n\n   b"],
		["code in an item", "<ul><li>a<pre>x\n y</pre></ul>", "- a\n\n  ```\n  x\n   y\n  ```"],
		["tasks", "<ul><li><input type=checkbox checked> a</ul>", "- [x] a"],
		["terms", "<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\n: b\n\nc\n: d"],
		["an item without a list", "<li>a", "- a"],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});
});

describe("code", () => {
	test.each([
		["inline", "<code>a  <b>b</b> &lt;c&gt;</code>", "`a b <c>`"],
		["inline with backticks", "<code>`a`</code>", "`` `a` ``"],
		["block", "<pre>\n  a\n\n  &lt;b&gt;</pre>", "```\n  a\n\n  <b>\n```"],
		["block with backticks", "<pre>````\na</pre>", "`````\n````\na\n`````"],
		["block without end", "<pre>a\n<div>b", "```\na\nb\n```"],
		["lines as elements", "<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"],
		["line numbers", '<pre><span class="lineno">1</span>a</pre>', "```\na\n```"],
		["language-…", '<pre><code class="x language-C++">a</code></pre>', "```c++\na\n```"],
		[
			"highlight-source-…",
			'<div class="highlight highlight-source-js"><pre>a</pre></div>',
			"```js\na\n```",
		],
		["data-lang", '<figure data-lang="rust"><div><pre>a</pre></div></figure>', "```rust\na\n```"],
		["empty", "<pre> </pre>a", "a"],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});
});

describe("tables", () => {
	test("rows and cells, a header as wide as the widest row", () => {
		expect(markdown("<table><tr><th>A<th>B<tr><td>1<td>2|3<td>4</table>")).toBe(
			"| A | B |  |\n| --- | --- | --- |\n| 1 | 2\\|3 | 4 |",
		);
	});

	test("cells that span keep the columns in line", () => {
		const html = "<table><tr><td rowspan=2>a<td colspan=2>b<td>c<tr><td>d<td>e<td>f</table>";
		expect(markdown(html)).toBe("| a | b |  | c |\n| --- | --- | --- | --- |\n|  | d | e | f |");
	});

	test("groups of rows keep the columns in line, also if most cells are empty", () => {
		const rows = Array.from({ length: 11 }, (_, i) => `<tr><td>item ${i}</td></tr>`).join("");
		const { markdown } = linearHtmlToMarkdown(
			`<table><tr><th>A<th>B<th>C</tr><tr><td rowspan=12>a</td><td rowspan=12>b</td><td>first</td></tr>${rows}</table>`,
		);
		expect(markdown.split("\n").at(-1)).toBe("|  |  | item 10 |");
	});

	test("the caption goes before, and columns without any text go", () => {
		const html = "<table><caption>Cap</caption><tr><td>a<td><td>b<tr><td>c<td> <td>d</table>after";
		expect(markdown(html)).toBe("Cap\n\n| a | b |\n| --- | --- |\n| c | d |\n\nafter");
	});

	test("paragraphs and lists fit in a cell", () => {
		const html = "<table><tr><td>k<td>v<tr><td>a<td><p>b</p><ul><li>c<li>d</ul></table>";
		expect(markdown(html)).toBe("| k | v |\n| --- | --- |\n| a | b - c - d |");
	});

	test("a table that only places things is read as the things", () => {
		const html =
			"<table><tr><td><ul><li>a<li>b</ul><td><h1>T</h1><table><tr><td>1<td>2<tr><td>3<td>4</table>x</table>y";
		expect(markdown(html)).toBe("- a\n- b\n\n# T\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |\n\nx\n\ny");
	});

	test("long text and code in cells are not squeezed into rows", () => {
		const long = "word ".repeat(200).trim();
		expect(markdown(`<table><tr><td>a<td>${long}<tr><td>b<td>c</table>`)).toBe(
			`a\n\n${long}\n\nb\n\nc`,
		);
		expect(markdown("<table><tr><td>a<td><pre>x\ny</pre></table>")).toBe("a\n\n```\nx\ny\n```");
	});

	test("a stray end tag in a cell does not end the table", () => {
		expect(markdown("<div><table><tr><td>a</div><td>b<tr><td>c<td>d</table></div>")).toBe(
			"| a | b |\n| --- | --- |\n| c | d |",
		);
	});
});

describe("formulae", () => {
	test.each([
		["MathJax", '<script type="math/tex">a<b</script>', "$a< b$"],
		["MathJax, display", 'x<script type="math/tex; mode=display">a</script>', "x\n\n$$\na\n$$"],
		[
			"KaTeX",
			'<span class="katex"><math><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></math>' +
				'<span aria-hidden="true">x2</span></span>',
			"$x^2$",
		],
		[
			"Wikipedia",
			'<span style="display: none"><math alttext="x">y</math></span><img class="mwe-math" src=/i alt="{\\displaystyle E=mc^2}">',
			"$E=mc^2$",
		],
		["without LaTeX", "<math><mi>x</mi><mo>=</mo><mn>1</mn></math>", "$x = 1$"],
		[
			"a fraction and a power",
			"<math><mfrac><mi>p</mi><mi>q</mi></mfrac><mo>=</mo><msup><mi>r</mi><mn>2</mn></msup></math>",
			"$\\frac{p}{q} = r^{2}$",
		],
		[
			"roots and indices",
			"<math><msqrt><mi>p</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>x</mi><mn>3</mn></mroot><msub><mi>r</mi><mn>1</mn></msub><msubsup><mi>a</mi><mi>i</mi><mn>2</mn></msubsup></math>",
			"$\\sqrt{p + 1} \\sqrt[3]{x} r_{1} a_{i}^{2}$",
		],
		[
			"a power of a sum",
			"<math>\n<msup>\n<mrow><mo>(</mo><mi>a</mi><mo>+</mo><mi>b</mi><mo>)</mo></mrow>\n<mrow><mn>2</mn><mi>n</mi></mrow>\n</msup>\n</math>",
			"\u0024{( a + b )}^{2 n}$",
		],
		[
			"limits of a sum",
			"<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>0</mn></mrow><mi>n</mi></munderover><mi>i</mi></math>",
			"$∑_{i = 0}^{n} i$",
		],
		["a power of too many parts", "<math><msup>a<mi>b</mi><mn>2</mn></msup></math>", "$a b 2$"],
		["a fraction that lacks a half", "<math><mfrac><mi>p</mi></mfrac></math>", "$p$"],
		[
			"elements never closed",
			"<math><mfrac><mi>p</mi><msup><mi>q</mi><mn>2</math>",
			"$\\frac{p}{q^{2}}$",
		],
		["never closed", "<math><mi>x</mi><p>text", "$x$\n\ntext"],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});
});

describe("what is left out", () => {
	test.each([
		["scripts and styles", "a<script>b</SCRIPT ><style>c</style>d", "ad"],
		["scripts without end", "<p>a</p><script>b<p>c</p>", "a"],
		["templates", "b<template>d</template>", "b"],
		["hidden pieces of a line", "<p>b<i aria-hidden=true>d</i>e", "be"],
		["comments, doctypes, instructions", "<!doctype html><!-- a > b --><?xml c?><!-->d", "d"],
		[
			"drawings and forms",
			"<svg><title>a</title><text>b</text></svg><select><option>c</select>d",
			"d",
		],
		[
			"a part that is never closed ends with what it is in",
			"<div><template>a<ul><li>b</div>c",
			"c",
		],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});

	test("CDATA is text, a broken one is not the end", () => {
		expect(markdown("a<![CDATA[b & c]]>d<![CDATA[e>f")).toBe("ab & cdf");
	});

	test("what the caller does not keep, with its marks, lists, cells and images", () => {
		const html =
			'<h2>a</h2><p>b <b>c</b><ul><li><a href="/x">d</a></ul><table><tr><td>e<td>f<tr><td>g<td>h</table><img src=i.png><p>j';
		const pieces = ["a", "b ", "c", "d", "e", "f", "g", "h", "j"];
		const keep = (kept: string) => ({
			text: (piece: number) => kept.includes(pieces[piece]?.trim() ?? ""),
			between: () => kept.includes("i"),
		});
		const written = (kept: string) =>
			linearHtmlToMarkdown(html, { baseUrl, keep: keep(kept) }).markdown;
		expect(written("abcdefghij")).toBe(linearHtmlToMarkdown(html, { baseUrl }).markdown);
		expect(written("b")).toBe("b");
		expect(written("dj")).toBe("- [d](https://example.com/x)\n\nj");
		expect(written("efgh")).toBe("| e | f |\n| --- | --- |\n| g | h |");
		expect(written("")).toBe("");
	});

	test("anchors are where their elements begin in the text", () => {
		const { markdown: text, anchors } = linearHtmlToMarkdown(
			'<h1 id="top">A</h1><p>b<h2 id="c">C</h2><p><a name="d"></a>e<div id="f"><pre>g</pre></div>',
		);
		expect(text.slice(anchors.get("top"))).toBe(text);
		expect(text.slice(anchors.get("c"))).toMatch(/^## C\n\ne/);
		expect(text.slice(anchors.get("d"))).toMatch(/^e\n\n/);
		expect(text.slice(anchors.get("f"))).toBe("```\ng\n```");
	});

	test("the title is found, on one line and of bounded length", () => {
		const titleOf = (text: string) => linearHtmlToMarkdown(`<title>${text}</title><p>x`).title;
		expect(titleOf(" A &amp;\n B")).toBe("A & B");
		expect(titleOf(" ")).toBeUndefined();
		expect(titleOf("😀".repeat(500_000))).toBe(`${"😀".repeat(99)}…`);
	});
});

describe("documents with mistakes", () => {
	test.each([
		["a tag cut off at the end", "a<p class='x", "a"],
		["a quote that is never closed", 'a<p class="x>b', "a\n\nb"],
		["end tags without a start", "</div></p>a</table></td>", "a"],
		["tags in capitals", "<H1>a</H1><P>b", "# a\n\nb"],
		["an unclosed title", "<title>a<p>b", "a\n\nb"],
		["nothing at all", "", ""],
	])("%s", (_, html, expected) => {
		expect(markdown(html)).toBe(expected);
	});
});

describe("laws", () => {
	test("any text is converted without an error, the same each time, to no more than ten times its length", () => {
		fc.assert(
			fc.property(htmlSoup, (html) => {
				const first = linearHtmlToMarkdown(html, { baseUrl: "https://e.com/" });
				expect(first.markdown.length).toBeLessThanOrEqual(10 * html.length + 100);
				expect(linearHtmlToMarkdown(html, { baseUrl: "https://e.com/" })).toEqual(first);
			}),
			{ numRuns: runs(500) },
		);
	});

	test("outside code there are no tags", () => {
		fc.assert(
			fc.property(htmlSoup, (html) => {
				const noCode = html
					.replace(/<\/?(?:pre|code|tt|kbd|samp|xmp)\b/gi, "<em")
					.replaceAll("`", "");
				expect(markdown(noCode)).not.toMatch(/<[a-z/!?]/i);
			}),
			{ numRuns: runs(500) },
		);
	});

	test("the text of paragraphs arrives whole and in order", () => {
		const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 30 });
		fc.assert(
			fc.property(fc.array(words, { maxLength: 20 }), (paragraphs) => {
				const html = paragraphs.map((list) => `<p>${list.join("\n ")}</p>`).join("");
				expect(markdown(html)).toBe(paragraphs.map((list) => list.join(" ")).join("\n\n"));
			}),
		);
	});

	test.each([
		"<div>",
		"<div></div>",
		"<b><p>x",
		"<b><i>x</b></i>",
		"<table><tr><td>x",
		"<tr><td rowspan=999 colspan=999>x",
		"<td>x<tr>",
		"<ul><li>x",
		"<blockquote>x",
		"<a href=x>y",
		'<a href="',
		"<a b='c\" ",
		"<!--",
		"<![CDATA[",
		"<title>",
		"<SCRIPT>x</script>",
		"</div>",
		"<b></i></div>",
		"<div hidden>",
		"<nav>x</nav>",
		"<pre>x",
		"<code>`",
		"<math>x",
		"<",
		"<!",
		"&amp;",
		"&aaaaaaaa",
		"\0",
		" \n",
		"<br>x",
		"<main>x",
	])("%s over and over: twice the input, twice the work", (piece) => {
		const work = (count: number) => linearHtmlToMarkdown(piece.repeat(count), { baseUrl }).work;
		expect(work(8000)).toBeLessThan(2.1 * work(4000) + 100);
		expect(work(8000)).toBeLessThan(12 * 8000 * piece.length);
	});
});

describe("an article by its own word", () => {
	const og = (type: string) => `<meta property="og:type" content="${type}">`;
	const data = (...types: string[]) =>
		`<script type="application/ld+json">{"@graph":[${types.map((type) => `{ "@type": "${type}" }`).join(",")}]}</script>`;
	const dated = '<meta property="article:published_time" content="2026-11-15">';
	const isArticle = (html: string) => readPageTree(html).signals.isArticle;

	test.each([
		["an article to Open Graph", og("article")],
		["one in capitals", '<META NAME="og:type" CONTENT="Article">'],
		["news to schema.org", data("WebPage", "NewsArticle")],
		["a post of a blog, whatever Open Graph says", og("website") + data("BlogPosting")],
		["an article to schema.org alone", data("Article")],
		["an article to both", og("article") + data("WebPage", "Article")],
		["an article to Open Graph, with a date", og("article") + dated + data("WebPage")],
		["news with a block of code", `${data("NewsArticle")}<pre>x</pre>`],
	])("is %s", (_, html) => {
		expect(isArticle(html)).toBe(true);
	});

	test.each([
		["a page without metadata", "<article><h1>News</h1></article>"],
		["a page of a site", og("website")],
		["a page of a site with a general word for it", og("website") + data("Article")],
		["a mere page that every page of the site is like", og("article") + data("WebPage")],
		["a product", og("article") + data("Product")],
		["documentation", og("article") + data("TechArticle")],
		["a page of code", `${og("article")}${data("BlogPosting")}${"<pre>x</pre>".repeat(2)}`],
		["a page of definitions", `${og("article")}<dl>${"<dt>a<dd>b".repeat(6)}</dl>`],
		["data that is broken", '<script type="application/ld+json">{"@type": </script>'],
	])("is not %s", (_, html) => {
		expect(isArticle(html)).toBe(false);
	});
});
