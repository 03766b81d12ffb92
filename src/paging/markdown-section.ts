/**
 * Where the section with this id starts in a Markdown text, or `undefined`. Ids are those that forges and site generators give
 * to headings (`## Read the API` is `read-the-api`), those written behind a heading (`{#api}`), and those of HTML elements.
 * Headings inside code are none. Linear in the text.
 */
export function markdownSection(text: string, id: string): number | undefined {
	const wanted = id.toLowerCase();
	const seen = new Map<string, number>();
	let fence = "";
	let from = 0;
	while (from < text.length) {
		const newline = text.indexOf("\n", from);
		const end = newline === -1 ? text.length : newline;
		// Longer lines are no headings, and must not be copied.
		const line = end - from <= MAX_LINE ? text.slice(from, end).trimEnd() : "";
		const mark = FENCE.exec(line)?.[1];
		if (fence !== "") {
			if (mark?.startsWith(fence) && line.trim() === mark) fence = "";
		} else if (mark !== undefined) fence = mark;
		else {
			const heading = headingAt(text, line, end);
			if (heading !== undefined && isNamed(heading, wanted, seen)) return from;
			if (line.includes("<") && hasElement(line, id)) return from;
		}
		from = end + 1;
	}
	return undefined;
}

const MAX_LINE = 500;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The text of the heading that the line is: with marks before it, or underlined by the next line. */
function headingAt(text: string, line: string, end: number): string | undefined {
	const marked = /^ {0,3}#{1,6}[ \t]+(.*)$/.exec(line)?.[1];
	if (marked !== undefined) return marked.replace(/[ \t]#+$/, "");
	const next = text[end + 1];
	if (line === "" || (next !== "=" && next !== "-")) return undefined;
	UNDERLINE.lastIndex = end + 1;
	return UNDERLINE.test(text) ? line : undefined;
}

const UNDERLINE = /(?:={2,500}|-{2,500})[ \t]{0,50}(?:\r?\n|$)/y;

function isNamed(heading: string, wanted: string, seen: Map<string, number>): boolean {
	const explicit = /\{#([^\s}]+)\}\s*$/.exec(heading)?.[1];
	if (explicit !== undefined) return explicit.toLowerCase() === wanted;
	const slug = slugOf(heading);
	const count = seen.get(slug) ?? 0;
	seen.set(slug, count + 1);
	// The second heading of the same text gets a number.
	return (count === 0 ? slug : `${slug}-${count}`) === wanted;
}

function slugOf(heading: string): string {
	return heading
		.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
		.toLowerCase()
		.replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, "")
		.trim()
		.replace(/\s/g, "-");
}

function hasElement(line: string, id: string): boolean {
	for (const [, , found] of line.matchAll(/<[a-z][\w-]*\s[^>]*?\b(id|name)=["']?([^\s"'>]+)/gi))
		if (found === id) return true;
	return false;
}

/** Whether a text is Markdown, by its declared type or the name in its address. */
export function isMarkdown(contentType: string | undefined, address: string): boolean {
	if (/^text\/(?:x-)?markdown\b/i.test(contentType ?? "")) return true;
	return /\.(?:md|mdx|markdown)$/i.test(address.replace(/[?#].*$/, ""));
}
