/** Generated web pages for benchmarks, the same in every run, with lists of their main texts and of the rest. */
import { createRandom, type Random } from "../readcache/sample-text.ts";

export interface SamplePage {
	kind: string;
	html: string;
	/** Pieces of text that a reader wants, each of which occurs once. */
	main: string[];
	/** Pieces of text that only surround them. */
	around: string[];
}

/** So many pages of each kind: articles, documentation, tables, listings, threads and pages of another time. */
export function samplePages(perKind: number): SamplePage[] {
	return Object.entries(KINDS).flatMap(([kind, make], k) =>
		Array.from({ length: perKind }, (_, i) => {
			const write = writer(createRandom(100 * k + i + 1));
			const html = make(write, i);
			return { kind, html, main: write.main, around: write.around };
		}),
	);
}

type Writer = ReturnType<typeof writer>;

const KINDS: Record<string, (write: Writer, i: number) => string> = {
	article: (w) =>
		framed(
			w,
			`<main><article><h1>${w.title()}</h1><p class="byline">By <a href="/authors/1">${w.aside(2)}</a></p>
${w.list(12, () => `<p>${w.text(60)} <a href="/topics/${w.number()}">${w.text(3)}</a> ${w.text(20)}</p>`)}
<figure><img src="/i/${w.number()}.jpg" alt="${w.text(5)}" width="800" height="500"><figcaption>${w.text(9)}</figcaption></figure>
<h2>${w.title()}</h2><blockquote><p>${w.text(25)}</p></blockquote>${w.list(8, () => `<p>${w.text(70)}</p>`)}</article></main>`,
		),
	"article in plain divisions": (w) =>
		framed(
			w,
			`<div class="wrapper"><div class="content-column"><div class="post-title">${w.title()}</div>
${w.list(15, () => `<div class="para">${w.text(50)}<br><br>${w.text(40)}</div>`)}</div>
<div class="right-rail">${w.list(6, () => `<div class="teaser"><a href="/t/${w.number()}">${w.aside(7)}</a></div>`)}</div></div>`,
		),
	"documentation with code": (w) =>
		framed(
			w,
			`<div class="layout"><div class="sidebar"><ul>${w.list(40, () => `<li><a href="/docs/${w.number()}">${w.aside(2)}</a></li>`)}</ul></div>
<main><h1>${w.title()}</h1>${w.list(
				8,
				() => `<h2 id="s${w.number()}">${w.title()}<a class="anchor" href="#s">#</a></h2><p>${w.text(35)} <code>${w.code()}</code> ${w.text(12)}</p>
<div class="highlight highlight-source-js"><pre><span class="k">const</span> ${w.code()} = 1;\n<span class="c">// ${w.code()}</span></pre></div>
<ul>${w.list(4, () => `<li><code>${w.code()}</code>: ${w.text(10)}</li>`)}</ul>`,
			)}</main></div>`,
		),
	tables: (w) =>
		framed(
			w,
			`<div id="content"><h1>${w.title()}</h1><p>${w.text(40)}</p>${w.list(
				3,
				() => `<h2>${w.title()}</h2><table class="data"><thead><tr>${w.list(4, () => `<th>${w.text(1)}</th>`)}</tr></thead>
<tbody>${w.list(25, () => `<tr>${w.list(4, () => `<td>${w.text(2)}</td>`)}</tr>`)}</tbody></table><p>${w.text(30)}</p>`,
			)}</div>`,
		),
	"listing of links": (w) =>
		framed(
			w,
			`<div class="results"><h1>${w.title()}</h1>${w.list(
				30,
				() =>
					`<div class="result"><h3><a href="/item/${w.number()}">${w.text(8)}</a></h3><p>${w.text(18)}</p></div>`,
			)}</div>`,
		),
	"bare list of links": (w) =>
		framed(
			w,
			`<h1>${w.title()}</h1><ul>${w.list(60, () => `<li><a href="/chapter/${w.number()}">${w.text(4)}</a></li>`)}</ul>`,
		),
	"forum thread": (w) =>
		framed(
			w,
			`<div class="thread"><h1>${w.title()}</h1>${w.list(
				20,
				() => `<div class="post"><div class="author"><a href="/u/${w.number()}">${w.aside(1)}</a> <span class="date">${w.aside(2)}</span></div>
<div class="message"><p>${w.text(30)}</p>${w.maybe(() => `<pre><code>${w.code()}\n${w.code()}</code></pre>`)}<p>${w.text(15)}</p></div><div class="actions"><a href="#">Reply</a> <a href="#">Like</a></div></div>`,
			)}</div>`,
		),
	"table of contents": (w) =>
		`<html><head><title>${w.aside(4)}</title></head><body><div class="navheader">${w.aside(3)} <a href="/p">${w.aside(1)}</a></div>
<div class="book"><h1>${w.title()}</h1><p>${w.text(6)}</p><hr><div class="toc"><dl class="toc">${w.list(
			12,
			() =>
				`<dt><a href="/c/${w.number()}">${w.text(3)}</a></dt><dd><dl><dt><a href="/c/${w.number()}">${w.text(4)}</a></dt></dl></dd>`,
		)}</dl></div></div></body></html>`,
	"thread marked as comments": (w) =>
		framed(
			w,
			`<h1>${w.title()}</h1><div id="comments" class="comments">${w.list(
				25,
				() =>
					`<div class="comment"><div class="comment-meta"><a href="/u/${w.number()}">${w.aside(1)}</a></div><div class="comment-body"><p>${w.text(35)}</p></div></div>`,
			)}</div>`,
		),
	"cards that are links": (w) =>
		framed(
			w,
			`<div class="grid">${w.list(
				24,
				() =>
					`<a class="card" href="/p/${w.number()}"><div><h3>${w.text(4)}</h3><p>${w.text(14)}</p></div></a>`,
			)}</div>`,
		),
	"page laid out with tables": (w) =>
		`<html><head><title>${w.aside(4)}</title></head><body bgcolor="#ffffff"><table width="100%"><tr><td width="160" valign="top">${w.list(
			10,
			() => `<a href="/m/${w.number()}">${w.aside(2)}</a><br>`,
		)}</td><td><h1>${w.title()}</h1>${w.list(14, () => `<p>${w.text(45)}`)}
<table border="1"><tr><th>${w.text(1)}<th>${w.text(1)}${w.list(6, () => `<tr><td>${w.text(2)}<td>${w.text(2)}`)}</table>
<pre>${w.code()}\n  ${w.code()}</pre>${w.list(4, () => `<p>${w.text(45)}`)}</td></tr></table></body></html>`,
};

/** The frame of a modern page around its main text. */
function framed(w: Writer, content: string): string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${w.aside(4)}</title>
<meta name="description" content="${w.aside(10)}"><style>${".a{color:red}".repeat(200)}</style><script>${"var a=1;".repeat(800)}</script></head>
<body><header class="site-header"><a class="logo" href="/">${w.aside(2)}</a><nav><ul>${w.list(12, () => `<li><a href="/n/${w.number()}">${w.aside(2)}</a></li>`)}</ul></nav></header>
<div class="cookie-banner" role="dialog">${w.aside(20)} <button>OK</button></div>
${content}
<aside class="related sidebar"><h3>${w.aside(2)}</h3><ul>${w.list(8, () => `<li><a href="/r/${w.number()}">${w.aside(8)}</a></li>`)}</ul></aside>
<footer class="site-footer">${w.list(15, () => `<a href="/f/${w.number()}">${w.aside(2)}</a> `)}<p>${w.aside(12)}</p></footer>
<script>${"track();".repeat(500)}</script></body></html>`;
}

function writer(random: Random) {
	const main: string[] = [];
	const around: string[] = [];
	const pick = (count: number) => Math.floor(random() * count);
	const word = () =>
		Array.from({ length: 2 + pick(3) }, () => SYLLABLES[pick(SYLLABLES.length)]).join("");
	const phrase = (count: number) => {
		const words = Array.from({ length: count }, word);
		for (let i = 6; i < count - 1; i += 8) words[i] += ",";
		return words.join(" ");
	};
	const noted = (list: string[], text: string) => {
		list.push(text);
		return text;
	};
	return {
		main,
		around,
		text: (count: number) => noted(main, `${phrase(count)}${count > 9 ? "." : ""}`),
		title: () => noted(main, phrase(4)),
		code: () => noted(main, `${word()}_${word()}(${word()})`),
		aside: (count: number) => noted(around, phrase(count)),
		number: () => pick(100_000),
		maybe: (make: () => string) => (random() < 0.4 ? make() : ""),
		list: (count: number, make: () => string) => Array.from({ length: count }, make).join("\n"),
	};
}

const SYLLABLES =
	"ba co di fu ga he ji ko lu ma ne po qua ri so tu ve wa xi yo zan bel cor dun fen gol hir lam".split(
		" ",
	);
