/** A piece within a line. */
export type Inline =
	| { kind: "text"; text: string }
	| { kind: "code"; text: string }
	| { kind: "strong"; text: string }
	| { kind: "emphasis"; text: string }
	| { kind: "link"; text: string; href: string };

/** A part of a text with simple Markdown. */
export type MarkdownBlock =
	| { kind: "paragraph"; inlines: Inline[] }
	| { kind: "heading"; inlines: Inline[] }
	| { kind: "quote"; inlines: Inline[] }
	/** Code, and tables as they are written. */
	| { kind: "code"; language: string; text: string }
	| { kind: "list"; items: ListItem[] }
	| { kind: "rule" };

/** An item of a list; nested lists are told by their level. */
export interface ListItem {
	level: number;
	/** A number, or nothing. */
	mark: string;
	inlines: Inline[];
}

/**
 * Reads as much Markdown as models write: paragraphs, headings, lists, quotes, code, bold, emphasis, links. What it does
 * not know stays text, and nothing ever becomes HTML. Takes time in proportion to the text.
 */
export function markdown(source: string): MarkdownBlock[] {
	const lines = source.split("\n");
	const blocks: MarkdownBlock[] = [];
	let at = 0;
	while (at < lines.length) {
		const line = lines[at] ?? "";
		const fence = FENCE.exec(line);
		if (fence) {
			const end = endOfFence(lines, at + 1, fence[1] ?? "```");
			const text = lines.slice(at + 1, end).join("\n");
			blocks.push({ kind: "code", language: (fence[2] ?? "").trim(), text });
			at = end + 1;
		} else if (line.trim() === "") {
			at++;
		} else if (HEADING.test(line)) {
			blocks.push({ kind: "heading", inlines: inlinesOf(line.replace(HEADING, "")) });
			at++;
		} else if (RULE.test(line)) {
			blocks.push({ kind: "rule" });
			at++;
		} else {
			const read = TABLE.test(line)
				? taken(lines, at, (next) => TABLE.test(next))
				: QUOTE.test(line)
					? taken(lines, at, (next) => QUOTE.test(next))
					: ITEM.test(line)
						? taken(lines, at, (next) => ITEM.test(next) || /^\s+\S/.test(next))
						: taken(lines, at, (next) => next.trim() !== "" && !STARTS.test(next));
			blocks.push(blockOf(read));
			at += read.length;
		}
	}
	return blocks;
}

/** The pieces of a line. */
export function inlinesOf(text: string): Inline[] {
	const inlines: Inline[] = [];
	let from = 0;
	for (const match of text.matchAll(INLINE)) {
		const piece = pieceOf(match);
		if (!piece) continue;
		if (match.index > from) inlines.push({ kind: "text", text: text.slice(from, match.index) });
		inlines.push(piece);
		from = match.index + match[0].length;
	}
	if (from < text.length) inlines.push({ kind: "text", text: text.slice(from) });
	return inlines;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]{0,100})$/;
const HEADING = /^ {0,3}#{1,6}\s+/;
const RULE = /^ {0,3}([-*_])(?: ?\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const TABLE = /^\s*\|.*\|\s*$/;
const ITEM = /^(\s{0,20})([-*+]|\d{1,9}[.)])\s+/;
/** What ends a paragraph without an empty line. */
const STARTS = /^ {0,3}(?:#{1,6}\s|`{3}|~{3}|> |[-*+]\s|\d{1,9}[.)]\s|\|)/;

/** Every repetition is bounded: a text of others must not make the browser think for long. */
const INLINE = new RegExp(
	[
		"``([^\\n]{1,500}?)``",
		"`([^`\\n]{1,1000})`",
		"\\*\\*([^\\s*][^*\\n]{0,1000})\\*\\*",
		"(?<![\\w*])[*_]([^\\s*_][^*_\\n]{0,500})[*_](?![\\w*])",
		'\\[([^\\[\\]\\n]{1,300})\\]\\((https?://[^\\s()<>"]{1,2000})\\)',
		"(https?://[^\\s<>\"'`)\\]]{1,2000})",
	].join("|"),
	"g",
);

function pieceOf(match: RegExpMatchArray): Inline | undefined {
	const [, wideCode, code, strong, emphasis, linkText, linkHref, address] = match;
	const codeText = wideCode ?? code;
	if (codeText !== undefined) return { kind: "code", text: codeText.trim() || codeText };
	if (strong !== undefined) return { kind: "strong", text: strong };
	if (emphasis !== undefined) return { kind: "emphasis", text: emphasis };
	const href = linkHref ?? address;
	if (href === undefined || !URL.canParse(href)) return undefined;
	return { kind: "link", text: linkText ?? href, href };
}

/** Lines that belong together; the first always does. */
function taken(
	lines: readonly string[],
	from: number,
	belongs: (line: string) => boolean,
): string[] {
	let to = from + 1;
	while (to < lines.length && belongs(lines[to] ?? "")) to++;
	return lines.slice(from, to);
}

function blockOf(lines: readonly string[]): MarkdownBlock {
	const [first = ""] = lines;
	if (TABLE.test(first)) return { kind: "code", language: "", text: lines.join("\n") };
	if (QUOTE.test(first)) {
		const text = lines.map((line) => line.replace(QUOTE, "")).join("\n");
		return { kind: "quote", inlines: inlinesOf(text) };
	}
	if (ITEM.test(first)) return { kind: "list", items: itemsOf(lines) };
	return { kind: "paragraph", inlines: inlinesOf(lines.join("\n")) };
}

function itemsOf(lines: readonly string[]): ListItem[] {
	const texts: { level: number; mark: string; text: string }[] = [];
	for (const line of lines) {
		const item = ITEM.exec(line);
		const last = texts.at(-1);
		if (!item && last) last.text += `\n${line.trim()}`;
		if (!item) continue;
		const [whole, indent = "", mark = ""] = item;
		texts.push({
			level: Math.min(5, Math.floor(indent.replaceAll("\t", "  ").length / 2)),
			mark: /\d/.test(mark) ? mark : "",
			text: line.slice(whole.length),
		});
	}
	return texts.map(({ text, ...item }) => ({ ...item, inlines: inlinesOf(text) }));
}

/** The line that ends a fence, or the end of the text: a fence that is still being written. */
function endOfFence(lines: readonly string[], from: number, fence: string): number {
	for (let at = from; at < lines.length; at++) {
		if ((lines[at] ?? "").trim().startsWith(fence) && /^\s*[`~]+\s*$/.test(lines[at] ?? ""))
			return at;
	}
	return lines.length;
}
