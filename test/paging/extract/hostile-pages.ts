const paragraph =
	"<p>Hello <b>bold</b> <a href='/x'>link</a> text &amp; more, all of it in a paragraph of some words.</p>\n";

/** Pages made to take a converter's time, stack or memory, each with a word that must not get lost. */
export const hostilePages: Record<string, () => string> = {
	"10,000 nested elements": () => `${"<div>".repeat(10_000)}needle${"</div>".repeat(10_000)}`,
	"1,400 nested elements": () => `${"<div>".repeat(1400)}needle${"</div>".repeat(1400)}`,
	"10 MB of paragraphs": () => `${paragraph.repeat(10_000_000 / paragraph.length)}<p>needle</p>`,
	"a table of 45,000 rows": () =>
		`<table>${"<tr><td>a</td><td>b</td><td>12345</td></tr>".repeat(45_000)}<tr><td>needle</table>`,
	"3,000 unclosed elements": () => `${"<b><p>some text ".repeat(3000)}needle`,
	"an attribute of 10 MB": () => `<p title="${"x".repeat(10_000_000)}">needle</p>`,
	"half a million character references": () => `<p>${"&amp;".repeat(500_000)} needle</p>`,
	"a million null characters": () => `${"\0".repeat(1_000_000)}<p>needle</p>`,
	"2,000 nested tables": () => `${"<table><tr><td>".repeat(2000)}needle`,
	"200,000 links": () => `${"<a href=/x/y>link</a> ".repeat(200_000)}needle`,
	"100,000 classes": () => `<div class="${"c ".repeat(100_000)}"><p>needle</p></div>`,
	"half a million blank lines of code": () => `<pre>needle${"\n".repeat(500_000)}x</pre>`,
	"half a million spaces in code": () => `<pre>needle${" ".repeat(500_000)}x</pre>`,
	"50,000 unclosed comments and tags": () => `<p>needle</p>${'<a href="<!--'.repeat(50_000)}`,
};
