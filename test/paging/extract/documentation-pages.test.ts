import { describe, expect, test } from "vitest";
import { htmlToMarkdown } from "../../../src/paging/extract/html-to-markdown.ts";
import { linearHtmlToMarkdown } from "../../../src/paging/extract/linear-html.ts";

const linear = (html: string) => linearHtmlToMarkdown(html).markdown;
const page = (html: string) =>
	htmlToMarkdown(`<!doctype html><title>t</title>${html}`, "https://docs.example.com/a").markdown;
const SENTENCE =
	"This function returns the size of a type in bytes, which is the distance between two elements of an array, with padding. ";
const prose = (count: number) => `<p>${SENTENCE.repeat(3)}</p>`.repeat(count);

describe("code", () => {
	test.each([
		[
			"Chroma",
			'<pre class="chroma"><code><span class="line"><span class="ln">1</span><span class="cl">a {\n</span></span><span class="line"><span class="ln">2</span><span class="cl">  b\n</span></span></code></pre>',
		],
		[
			"React",
			'<pre><span class="linenumber react-syntax-highlighter-line-number">1</span><span>a {</span>\n<span class="linenumber react-syntax-highlighter-line-number">2</span><span>  b</span></pre>',
		],
		[
			"Docusaurus",
			'<pre><code><span class="token-line"><span class="codeLineNumber_Tfdd"></span><span>a {</span><br></span><span class="token-line"><span class="codeLineNumber_Tfdd"></span><span>  b</span><br></span></code></pre>',
		],
		[
			"a table of Chroma",
			'<table class="lntable"><tr><td class="lntd"><pre><code><span class="lnt">1\n</span><span class="lnt">2\n</span></code></pre></td><td class="lntd"><pre><code>a {\n  b</code></pre></td></tr></table>',
		],
	])("has no line numbers: %s", (_, html) => {
		expect(linear(html)).toBe("```\na {\n  b\n```");
	});

	test("has no buttons; a class that asks for line numbers is no line number", () => {
		expect(
			linear(
				'<pre class="line-numbers"><button>Copy</button><code class="language-js line-numbers">f();</code></pre>',
			),
		).toBe("```js\nf();\n```");
	});

	test("of Doxygen keeps its lines and its indentation; fragments of slides are text", () => {
		const fragment =
			'<div class="fragment"><div class="line"><a id="l1"></a><span class="lineno">    1</span><span class="keyword">int</span> f() {</div><div class="line"><span class="lineno">    2</span>&#160; return 0;</div><div class="line"><span class="lineno">    3</span>}</div></div>';
		expect(linear(`<meta name="generator" content="Doxygen 1.9.1">${fragment}`)).toBe(
			"```\nint f() {\n  return 0;\n}\n```",
		);
		expect(linear('<div class="fragment">step one</div>')).toBe("step one");
	});

	test("in a quote keeps the quote around its blank lines", () => {
		expect(linear("<blockquote><pre>a\n\nb</pre></blockquote>")).toBe("> ```\n> a\n>\n> b\n> ```");
	});

	test("a signature of javadoc is code", () => {
		expect(
			linear(
				'<div class="member-signature"><span class="modifiers">public</span>&nbsp;<span>void</span>&nbsp;<span>run</span>(int&nbsp;a,\n   int&nbsp;b)</div>',
			),
		).toBe("```\npublic void run(int a,\n   int b)\n```");
	});

	test("above the text that describes it is kept", () => {
		const text = page(
			`<nav><a href="/x">x</a></nav><main><section id="main-content"><div class="main-heading"><h1>Function size_of</h1><span class="sub-heading"><a href="src">Source</a></span></div><pre class="rust item-decl"><code>pub const fn size_of&lt;T&gt;() -&gt; usize</code></pre><details class="toggle top-doc" open><summary>Expand description</summary><div class="docblock">${prose(4)}</div></details></section></main>`,
		);
		expect(text).toContain("pub const fn size_of<T>() -> usize");
	});

	test("at the end of a page is kept with the list that it is in", () => {
		const example = (n: number) =>
			`<li><p>Do ${n}:</p><div class="listingblock"><div class="content"><pre>$ git remote ${n}</pre></div></div></li>`;
		const text = page(
			`<div id="content"><h2>DESCRIPTION</h2>${prose(6)}<h2>EXAMPLES</h2><div class="olist"><ol>${example(1)}${example(2)}</ol></div><h2>GIT</h2><p>Part of the <a href="git">git</a> suite</p></div>`,
		);
		expect(text).toContain("$ git remote 1");
		expect(text).toContain("Do 2:");
	});
});

describe("text", () => {
	test("with reading aids has them in brackets, whether the page has brackets or not", () => {
		expect(linear("<p><ruby>漢<rt>kan</rt>字<rt>ji</ruby> x</p>")).toBe("漢(kan)字(ji) x");
		expect(linear("<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby></p>")).toBe("漢(kan)");
	});

	test("in the shadow of an element is read, other templates are not", () => {
		const html =
			'<my-tab><template shadowrootmode="open"><p>shadow</p></template><p>light</p></my-tab><template><p>later</p></template>';
		expect(linear(html)).toBe("shadow\n\nlight");
	});

	test("that is left out leaves no quotation marks or brackets", () => {
		const text = page(
			`<nav><ul><li><q>Home</q></li><li><ruby>a<rt>b</rt></ruby></li></ul></nav><article>${prose(5)}</article>`,
		);
		expect(text).not.toMatch(/["()]/);
	});
});
