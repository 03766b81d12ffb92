import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { htmlToMarkdown } from "../../../src/paging/extract/html-to-markdown.ts";
import { leftOutLine } from "../../../src/paging/extract/left-out.ts";

const baseUrl = "https://example.com/blog/post.html";
const sentence =
	"Every sentence of this article says something, with a comma, about rivers and the sea. ";
const paragraph = `<p>${sentence.repeat(5)}</p>`;

function page(content: string): string {
	return `<!doctype html><html><head><title>The Post – A Site</title><style>p{}</style></head><body>
<header><a href="/">A Site</a></header><nav><ul><li><a href="/a">Alpha</a><li><a href="/b">Beta</a></ul></nav>
<main><article><h1>The Post</h1>${paragraph.repeat(4)}${content}${paragraph.repeat(4)}</article></main>
<aside class="sidebar"><h3>Related posts</h3><ul><li><a href="/c">Gamma rays for beginners</a></ul></aside>
<footer>© A Site, all rights reserved</footer><script>track("everything")</script></body></html>`;
}

describe("an article", () => {
	test("is found, without what is around it", () => {
		const { markdown, title } = htmlToMarkdown(page("<p>The middle.</p>"), baseUrl);
		expect(title).toContain("The Post");
		expect(markdown.match(/Every sentence/g)).toHaveLength(40);
		expect(markdown).toContain("\n\nThe middle.\n\n");
		expect(markdown).not.toMatch(/Alpha|Gamma|rights reserved|track|p\{\}/);
	});

	test.each([
		[
			"code with its language",
			'<pre><code class="language-python">def f():\n    return 1\n</code></pre>',
			"```python\ndef f():\n    return 1\n```",
		],
		[
			"code with its language around it",
			'<div class="highlight highlight-source-js"><pre><span>const</span> a = 1;</pre></div>',
			"```js\nconst a = 1;\n```",
		],
		["code without a code element", "<pre>plain\n  &lt;pre&gt;</pre>", "```\nplain\n  <pre>\n```"],
		[
			"tables",
			"<table><thead><tr><th>Name</th><th>Size</th></tr></thead><tbody><tr><td>a|b</td><td>1</td></tr></tbody></table>",
			"| Name | Size |\n| --- | --- |\n| a\\|b | 1 |",
		],
		[
			"formulae in scripts",
			'<p>since <script type="math/tex">\\frac{a}{b}</script> holds</p>',
			"since $\\frac{a}{b}$ holds",
		],
		["displayed formulae", '<script type="math/tex; mode=display">x^2</script>', "$$\nx^2\n$$"],
		[
			"formulae of KaTeX",
			'<p>and <span class="katex"><span class="katex-mathml"><math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>x</mi></mrow><annotation encoding="application/x-tex">x_1</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">x1</span></span> too</p>',
			"and $x_1$ too",
		],
		[
			"formulae without LaTeX",
			"<p>and <math><mfrac><mi>p</mi><mi>q</mi></mfrac><mo>=</mo><msup><mi>r</mi><mn>2</mn></msup></math> too</p>",
			"and $\\frac{p}{q} = r^{2}$ too",
		],
		[
			"formulae with notes that are not LaTeX",
			'<p>and <math><semantics><msub><mi>x</mi><mn>1</mn></msub><annotation encoding="StarMath 5.0">x sub 1</annotation></semantics></math> too</p>',
			"and $x_{1}$ too",
		],
		[
			"formulae of MathJax for screen readers",
			'<p>and <mjx-container class="MathJax"><mjx-math aria-hidden="true"></mjx-math><mjx-assistive-mml><math><msqrt><mi>p</mi></msqrt></math></mjx-assistive-mml></mjx-container> too</p>',
			"and $\\sqrt{p}$ too",
		],
		[
			"links",
			'<p>See <a href="../other?a=1&amp;b=2">the other page</a>.</p>',
			"See [the other page](https://example.com/other?a=1&b=2).",
		],
		[
			"images",
			'<p><img src="/img/river.png" alt="A river" width="600" height="400"></p>',
			"![A river](https://example.com/img/river.png)",
		],
		[
			"headings and lists",
			"<h2>Steps</h2><ol><li>one<ul><li>detail</li></ul></li><li>two</li></ol>",
			"## Steps\n\n1. one\n   - detail\n2. two",
		],
	])("keeps %s", (_, html, expected) => {
		const { markdown } = htmlToMarkdown(page(html), baseUrl);
		expect(markdown).toContain(expected);
	});

	test("has no scripts, whatever is escaped in it", () => {
		const { markdown } = htmlToMarkdown(
			page("<p>Never write &lt;script&gt;alert(1)&lt;/script&gt; here.</p><script>evil()</script>"),
			baseUrl,
		);
		expect(markdown).toContain("Never write &lt;script>");
		expect(markdown).not.toMatch(/<\/?script|evil/);
	});

	test("is the same each time", () => {
		const html = page("<p>x<sup id=fn1><a href=#n1>1</a></sup></p>");
		expect(htmlToMarkdown(html, baseUrl)).toEqual(htmlToMarkdown(html, baseUrl));
	});
});

describe("pages that hide their text from the readers", () => {
	test("a list of links is kept", () => {
		const links = Array.from({ length: 80 }, (_, i) => `<li><a href="/doc/${i}">Chapter ${i}</a>`);
		const { markdown } = htmlToMarkdown(
			`<html><body><h1>Contents</h1><p>Version 3</p><ul>${links.join("")}</ul></body></html>`,
			baseUrl,
		);
		expect(markdown).toContain("- [Chapter 0](https://example.com/doc/0)\n- [Chapter 1]");
		expect(markdown).toContain("[Chapter 79](https://example.com/doc/79)");
	});

	test("a listing in tables inside tables is readable", () => {
		const rows = Array.from(
			{ length: 40 },
			(_, i) =>
				`<tr><td>${i}.</td><td></td><td><a href="item?id=${i}">Story number ${i}</a></td></tr><tr><td colspan=2></td><td>by someone</td></tr>`,
		);
		const { markdown } = htmlToMarkdown(
			`<html><body><center><table><tr><td><table><tr><td><b>Site</b></td></tr></table></td></tr><tr><td><table>${rows.join("")}</table></td></tr></table></center></body></html>`,
			baseUrl,
		);
		expect(markdown).toContain("[Story number 39](https://example.com/blog/item?id=39)");
		expect(markdown).not.toMatch(/<\/?t[rd]/);
	});

	test("an article laid out with tables is readable", () => {
		const { markdown } = htmlToMarkdown(
			`<html><body><table width=100%><tr><td width=150><a href=/1>One</a><br><a href=/2>Two</a></td><td>${paragraph.repeat(8)}</td></tr></table></body></html>`,
			baseUrl,
		);
		expect(markdown.match(/Every sentence/g)).toHaveLength(40);
		expect(markdown).not.toMatch(/<\/?t[rd]|\|/);
	});

	test.each([
		[
			"no html, head or body tags",
			`<!doctype html><title>T</title><h1>Hi</h1>${paragraph.repeat(6)}`,
		],
		["no body tag", `<html><head><title>T</title></head><h1>Hi</h1>${paragraph.repeat(6)}</html>`],
		[
			"text after the end",
			`<html><head><title>T</title></head><body></body></html>${paragraph.repeat(6)}`,
		],
	])("a document with %s is read", (_, html) => {
		const { markdown, title } = htmlToMarkdown(html, baseUrl);
		expect(markdown.match(/Every sentence/g)).toHaveLength(30);
		expect(title).toBe("T");
	});

	test.each([
		["nothing", ""],
		["blanks", " \n"],
		["one script", "<script>x</script>"],
	])("%s gives nothing", (_, html) => {
		expect(htmlToMarkdown(html, baseUrl).markdown).toBe("");
	});

	test("a few words are kept", () => {
		expect(htmlToMarkdown("only words", baseUrl).markdown).toBe("only words");
		expect(htmlToMarkdown("<html><body><div>It works!</div></body></html>", baseUrl).markdown).toBe(
			"It works!",
		);
	});
});

describe("within the part a page marks as its main one", () => {
	const short = `<p>${sentence.repeat(3)}</p>`;
	const article = (content: string) =>
		`<!doctype html><html><head><title>Guide</title></head><body><nav><a href=/>Home</a></nav><main><article><h1>Guide</h1>${content}</article></main><footer>foot</footer></body></html>`;

	test.each([
		["a short list near the start", `${short}<ul><li>KEEP it</li><li>run it</li></ul>${short}`],
		["a short list before the end", `${short}${short}<ol><li>Open KEEP</li><li>Restart</li></ol>`],
		["a list first", `<p>You need:</p><ul><li>KEEP 24</li><li>Git</li></ul>${short.repeat(4)}`],
		["definitions", `${short}<dl><dt>KEEP</dt><dd>30 seconds</dd></dl>${short}`],
		["an aside", `${short}<aside class=note><p>KEEP: this deletes all.</p></aside>${short}`],
		["a header", `<header><p>KEEP, an abstract of one line.</p></header>${short}${short}`],
		["a note", `${short}<div class="alert"><p>KEEP your data safe.</p></div>${short}`],
		[
			"a part with an unlucky name",
			`${short}<div class="share-config"><p>KEEP configure shares.</p></div>${short}`,
		],
		["a date in a sentence", `<p>KEEP: support ends on March 5, 2024.</p>${short.repeat(3)}`],
		["a last short paragraph", `${short}${short}<p>KEEP.</p>`],
		[
			"a section named like a menu",
			`${short}<h2>Related commands</h2><p>KEEP git log shows the history.</p>${short}`,
		],
	])("%s is kept", (_, content) => {
		expect(htmlToMarkdown(article(content), baseUrl).markdown).toContain("KEEP");
	});

	test.each([
		["a menu", "<nav><ul><li><a href=/a>GONE</a></ul></nav>"],
		[
			"a cookie banner",
			'<div class="cookie-banner"><p>GONE, we use cookies.</p><button>OK</button></div>',
		],
		["a dialog", '<div role="dialog"><p>GONE, please sign in.</p></div>'],
		[
			"a share bar",
			'<div class="share-bar"><span>Share</span><a href="https://x.example/s">GONE on X</a><button>Copy</button></div>',
		],
		[
			"a list of related articles",
			'<section class="related"><h3>Related</h3><ul><li><a href=/c>GONE gamma rays</a></ul></section>',
		],
		[
			"related articles without a name",
			"<section><h2>Related articles</h2><ul><li><a href=/c>GONE gamma rays</a></ul></section>",
		],
		["an aside of links", "<aside><h3>More</h3><ul><li><a href=/c>GONE rays</a></ul></aside>"],
		[
			"a sign-up form",
			'<form class="newsletter"><p>GONE every week.</p><input type=email><button>Go</button></form>',
		],
		["a byline", '<p class="byline">By <a href="/authors/1">GONE Miller</a></p>'],
		["a footer", "<footer>GONE, filed under rivers</footer>"],
		["a hidden part", "<p hidden>GONE</p>"],
	])("%s is left out", (_, content) => {
		const { markdown } = htmlToMarkdown(article(`${short}${content}${short}`), baseUrl);
		expect(markdown).not.toContain("GONE");
		expect(markdown.match(/Every sentence/g)).toHaveLength(6);
	});
});

test("a page that marks no main part keeps its short lists", () => {
	const { markdown } = htmlToMarkdown(
		`<html><body><div class="content">${paragraph}<ul><li>First install it</li><li>Then run it</li></ul>${paragraph}</div></body></html>`,
		baseUrl,
	);
	expect(markdown).toContain("- First install it\n- Then run it");
});

describe("a page that says it is an article", () => {
	const openGraph = '<meta property="og:type" content="article">';
	const schema = (type: string) =>
		`<script type="application/ld+json">{"@context":"https://schema.org","@type":"${type}"}</script>`;
	const news = (head: string, content: string) =>
		`<!doctype html><html><head><title>News</title>${head}</head><body><nav><a href=/>Home</a></nav><main><article><h1>News</h1>${content}</article></main><footer>foot</footer></body></html>`;

	test.each([
		["Open Graph", openGraph],
		["schema.org", schema("NewsArticle")],
		["schema.org, for a blog", schema("BlogPosting")],
	])("by %s is read", (_, head) => {
		const { markdown } = htmlToMarkdown(news(head, paragraph.repeat(4)), baseUrl);
		expect(markdown.match(/Every sentence/g)).toHaveLength(20);
	});

	test("is read although it hides its text until a script runs", () => {
		const unfolded = `<div style="display:none">${paragraph.repeat(4)}</div>`;
		const html = `<html><head><title>News</title>${openGraph}</head><body>${unfolded}</body></html>`;
		const { markdown } = htmlToMarkdown(html, baseUrl);
		expect(markdown.match(/Every sentence/g)).toHaveLength(20);
	});

	test("is not held against what surrounds it, however much that is", () => {
		const teaser = `<div class="teaser"><h3><a href="/t">Another story</a></h3><p>${"A word on another story. ".repeat(20)}</p></div>`;
		const html = `<!doctype html><html><head><title>News</title>${openGraph}</head><body><div class="story-body">${paragraph.repeat(2)}</div><div class="stream">${teaser.repeat(60)}</div></body></html>`;
		const { markdown } = htmlToMarkdown(html, baseUrl);
		expect(markdown.match(/Every sentence/g)).toHaveLength(10);
	});

	test.each([
		["a menu", '<div role="navigation"><a href=/a>GONE</a></div>'],
		[
			"a list of related articles",
			'<div class="related"><h3>Related</h3><ul><li><a href=/c>GONE gamma rays</a></ul></div>',
		],
	])("%s is left out", (_, content) => {
		const html = news(openGraph, `${paragraph}${paragraph}${content}${paragraph}`);
		const { markdown } = htmlToMarkdown(html, baseUrl);
		expect(markdown).not.toContain("GONE");
	});

	test("keeps its lists, quotes, table, short paragraphs and code", () => {
		const content = `<ul><li>First of all</li><li>Second of all</li></ul><blockquote><p>Quoted words.</p></blockquote>
<table><tr><th>Name</th><th>Size</th></tr><tr><td>a</td><td>1</td></tr></table><p>Short.</p><pre><code class="language-js"><div class="cm-line">if (a) {</div><div class="cm-line">  b();</div><div class="cm-line"><br></div><div class="cm-line"><span class="lineno">4</span>}</div></code></pre>`;
		const html = news(openGraph, `${paragraph}${paragraph}${content}${paragraph}`);
		const { markdown } = htmlToMarkdown(html, baseUrl);
		for (const part of [
			"- First of all\n- Second of all",
			"> Quoted words.",
			"| Name | Size |\n| --- | --- |\n| a | 1 |",
			"\n\nShort.\n\n",
			"```js\nif (a) {\n  b();\n\n}\n```",
		])
			expect(markdown).toContain(part);
	});
});

describe("parts that scripts would show", () => {
	const code = (text: string) => `<pre><code class="language-js">${text}</code></pre>`;

	test.each([
		["hidden", "hidden"],
		["hidden from screen readers", 'aria-hidden="true"'],
		["hidden by a style", 'style="display:none"'],
		["hidden by a class", 'class="tab md:hidden language-js"'],
	])("the code of a tab that is %s is kept", (_, attribute) => {
		const tabs = `<div role="tabpanel">${code("first()")}</div><div role="tabpanel" ${attribute}>${code("second()")}</div>`;
		const { markdown } = htmlToMarkdown(page(tabs), baseUrl);
		expect(markdown).toContain("```js\nfirst()\n```\n\n```js\nsecond()\n```");
	});

	test("what React streams late is read in its place", () => {
		const html = page(
			'<p>Before.</p><!--$?--><template id="B:1a"></template><!--/$--><p>After.</p>',
		);
		const late = `<div hidden id="S:1a"><p>Late words.</p>${code("late()")}</div><script>$RC("B:1a","S:1a")</script>`;
		const { markdown } = htmlToMarkdown(html.replace("</body>", `${late}</body>`), baseUrl);
		expect(markdown).toContain("Before.\n\nLate words.\n\n```js\nlate()\n```\n\nAfter.");
	});

	test("what React streams late is read where it is if it has no place or is around its own", () => {
		for (const inner of ["", '<template id="B:0"></template>']) {
			const html = `<html><body><div id=root></div><div hidden id="S:0">${inner}${paragraph.repeat(4)}</div></body></html>`;
			expect(htmlToMarkdown(html, baseUrl).markdown.match(/Every sentence/g)).toHaveLength(20);
		}
	});
});

test.each([
	[
		"a function's name in its signature",
		'<h4>pub fn <a href="#method.map" class="fn">map</a>&lt;F&gt;(self)<a href="#method.map" class="anchor">§</a></h4>',
		"#### pub fn map&lt;F>(self)\n",
	],
	[
		"a title without the link to it",
		'<h2>Install<a class="hash-link" href="#install" title="Direct link to Install">​</a></h2>',
		"## Install\n",
	],
	["a title that links to itself", '<h2><a href="#usage">Usage</a></h2>', "## Usage\n"],
	["a title without the word for a link", '<h2>Use <a href="#use">Permalink</a></h2>', "## Use\n"],
])("a heading keeps %s", (_, heading, expected) => {
	const html = page(`${heading}${paragraph}`);
	expect(htmlToMarkdown(html, baseUrl).markdown).toContain(`\n\n${expected}`);
});

test("pictures that are links are no sentences: a page of such and other links is kept whole", {
	tags: "slow",
}, () => {
	const pictures = Array.from(
		{ length: 8 },
		(_, i) =>
			`<p><a href="https://shop.example.com/products/number-${i}"><img src="https://cdn.example.com/number-${i}.jpg" alt="Thing ${i}"></a></p>`,
	);
	const links = Array.from(
		{ length: 150 },
		(_, i) => `<div class="teaser"><a href="/c/${i}">Things of kind ${i} for the house</a></div>`,
	);
	const { markdown } = htmlToMarkdown(
		`<html><body><div class="content">${pictures.join("")}</div><div class="sidebar widget">${links.join("")}</div></body></html>`,
		baseUrl,
	);
	expect(markdown).toContain("![Thing 7]");
	expect(markdown).toContain("[Things of kind 149 for the house]");
});

test("a short text is not buried under what surrounds it", () => {
	const teasers = Array.from(
		{ length: 150 },
		(_, i) =>
			`<div class="teaser"><a href="/t${i}">Story ${i} about something else altogether</a></div>`,
	);
	const html = `<html><body><div class="post-body"><h1>The news</h1>${paragraph}</div><div class="sidebar widget">${teasers.join("")}</div></body></html>`;
	const { markdown } = htmlToMarkdown(html, baseUrl);
	expect(markdown.match(/Every sentence/g)).toHaveLength(5);
	expect(markdown).not.toContain("altogether");
});

describe("the white space of code is as the page has it", () => {
	const python = "import a\n\n\ndef f():\n    pass\n\n\n\nx = 1";
	const lines = python.split("\n");
	test.each([
		["blank lines", `<pre><code class="language-python">${python}</code></pre>`, python],
		[
			"blank lines between highlighted words",
			`<pre><code class="language-python">${python.replace(/\S+/g, "<span class=k>$&</span>")}</code></pre>`,
			python,
		],
		[
			"blank lines that are elements",
			`<pre><code class="language-python">${lines.map((line) => `<span class="line">${line}</span>`).join("\n")}</code></pre>`,
			python,
		],
		[
			"blank lines that are line breaks",
			`<pre class="language-python">${lines.join("<br>")}</pre>`,
			python,
		],
		[
			"blank lines in a highlighter's box",
			`<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>${python}\n</pre></div></div>`,
			python,
		],
		["tabs", '<pre><code class="language-python">if x:\n\ty\n</code></pre>', "if x:\n\ty"],
		[
			"indentation of the first line",
			'<pre><code class="language-python">    return 1\n\tx</code></pre>',
			"    return 1\n\tx",
		],
		[
			"indentation of all lines",
			'<pre><code class="language-python">\n  a\n  b</code></pre>',
			"  a\n  b",
		],
		[
			"blank lines beside line numbers",
			`<figure class="highlight python"><table><tr><td class="gutter"><pre><span class="line">1</span><br></pre></td><td class="code"><pre>${lines.map((line) => `<span class="line">${line}</span><br>`).join("")}</pre></td></tr></table></figure>`,
			python,
		],
	])("%s", (_, html, expected) => {
		const { markdown } = htmlToMarkdown(page(html), baseUrl);
		expect(markdown).toContain(`\n\`\`\`python\n${expected}\n\`\`\`\n`);
	});
});

describe("code", () => {
	test.each([
		[
			"in an editor's lines without a pre, blank ones too",
			'<div class="cm-editor"><div class="cm-content" data-language="js"><div class="cm-line">if (a) {</div><div class="cm-line">  b();</div><div class="cm-line"></div><div class="cm-line">}</div></div></div>',
			"```js\nif (a) {\n  b();\n\n}\n```",
		],
		[
			"in lines that are elements without line ends (shiki)",
			'<pre class="shiki"><code class="language-ts"><span class="line">const a = 1;</span><span class="line">  a;</span></code></pre>',
			"```ts\nconst a = 1;\n  a;\n```",
		],
		[
			"with its language in an element of its own, and without popups (twoslash)",
			'<pre class="shiki"><div class="language-id">ts</div><div class="code-container"><code><div class="line">let x<span class="twoslash-popup-container">let x: number</span></div><div class="line">x</div></code></div></pre>',
			"```ts\nlet x\nx\n```",
		],
		[
			"with its language as a bare class",
			'<pre class="rust rust-example-rendered"><code>let x;</code></pre>',
			"```rust\nlet x;\n```",
		],
		[
			"with its language in Gatsby's class",
			'<div class="gatsby-highlight"><pre class="gatsby-code-jsx"><code>&lt;A /></code></pre></div>',
			"```jsx\n<A />\n```",
		],
	])("%s is kept", (_, html, expected) => {
		expect(htmlToMarkdown(page(html), baseUrl).markdown).toContain(`\n\n${expected}\n\n`);
	});
});

describe("questions and answers", () => {
	const answer = (attributes: string, text: string) =>
		`<div class="answer" ${attributes}><div class="votecell">4</div><div class="post-text"><p>${text} ${sentence.repeat(3)}</p></div></div>`;

	test("answers have a boundary, their score, and whether they were accepted", () => {
		const html = `<!doctype html><html><head><title>How? - Answers</title></head><body><div class="question"><h1>How?</h1>${paragraph}</div>${answer('data-answerid="1" data-score="12" itemprop="acceptedAnswer"', "First.")}${answer('data-answerid="2" data-score="-3" itemprop="suggestedAnswer"', "Second.")}</body></html>`;
		const { markdown } = htmlToMarkdown(html, "https://qa.example.com/questions/1/how");
		expect(markdown).toMatch(/---\n\n\*\*Answer\*\* \(score 12, accepted\)\n\n(?:4\n\n)?First\./);
		expect(markdown).toMatch(/---\n\n\*\*Answer\*\* \(score -3\)\n\n(?:4\n\n)?Second\./);
	});

	test("an answer is not accepted because it holds a hidden sign of that", () => {
		const sign = '<div class="js-accepted-answer-indicator d-none" aria-label="Accepted"></div>';
		const html = `<!doctype html><html><head><title>How? - Answers</title></head><body><div class="question"><h1>How?</h1>${paragraph}</div>${answer('data-answerid="1" data-score="33" itemprop="suggestedAnswer"', `${sign}<p>First.`)}</body></html>`;
		const { markdown } = htmlToMarkdown(html, "https://qa.example.com/questions/1/how");
		expect(markdown).toContain("**Answer** (score 33)\n");
		expect(markdown).not.toContain("accepted");
	});

	test("frequent questions have one answer each, which needs no line", () => {
		const html = `<!doctype html><html><head><title>Help</title></head><body itemscope itemtype="https://schema.org/FAQPage"><h1>Help</h1>${answer('itemprop="acceptedAnswer"', "First.")}${answer('itemprop="acceptedAnswer"', "Second.")}</body></html>`;
		const { markdown } = htmlToMarkdown(html, "https://example.com/help");
		expect(markdown).toContain("First.");
		expect(markdown).not.toContain("Answer");
	});
});

describe("what a page says about itself", () => {
	test("is apart from its text: title, author, date", () => {
		const head =
			'<meta name="author" content="Ada L."><meta property="article:published_time" content="2026-11-15">';
		const found = htmlToMarkdown(page("").replace("</head>", `${head}</head>`), baseUrl);
		expect(found).toMatchObject({
			title: "The Post – A Site",
			author: "Ada L.",
			published: "2026-11-15",
		});
		expect(found.markdown).not.toContain("Ada");
	});

	test("may be in its data for search engines", () => {
		const data =
			'<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2026-01-02","author":[{"@type":"Person","name":"Bo"}]}</script>';
		expect(htmlToMarkdown(page(data), baseUrl)).toMatchObject({
			author: "Bo",
			published: "2026-01-02",
		});
	});
});

describe("what was left out", () => {
	test("is listed by kind and size, and can be had", () => {
		const html = page("");
		const { leftOut = {}, markdown } = htmlToMarkdown(html, baseUrl);
		expect(leftOut).toMatchObject({ navigation: 9, footer: 29, header: 6 });
		const whole = htmlToMarkdown(html, baseUrl, { everything: true });
		expect(whole.leftOut).toBeUndefined();
		for (const text of ["Alpha", "Gamma", "rights reserved"]) {
			expect(markdown).not.toContain(text);
			expect(whole.markdown).toContain(text);
		}
	});

	test("is said in one line", () => {
		expect(leftOutLine({ navigation: 1200, footer: 30 })).toBe(
			"navigation 1,200 characters, footer 30",
		);
	});
});

describe("reading a page", () => {
	const fetched = vi.fn(() => Promise.reject(new Error("no network here")));
	const spies = ["log", "warn", "error"] as const;

	beforeEach(() => {
		vi.stubGlobal("fetch", fetched);
		for (const name of spies) vi.spyOn(console, name);
	});
	afterEach(() => {
		vi.unstubAllGlobals();
		vi.restoreAllMocks();
	});

	test("makes no requests and does not write to the terminal", () => {
		for (const url of [
			"https://www.youtube.com/watch?v=abc",
			"https://x.com/a/status/1",
			baseUrl,
		]) {
			htmlToMarkdown(
				'<html><head><script type="application/ld+json">{broken</script></head><body><div></div></body></html>',
				url,
			);
		}
		expect(fetched).not.toHaveBeenCalled();
		for (const name of spies) expect(console[name]).not.toHaveBeenCalled();
	});
});
