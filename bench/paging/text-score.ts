/** How well an extracted text matches the one that people wrote down as a page's main text. */

/** Precision, recall and their harmonic mean, from 0 to 1. */
export interface TextScore {
	precision: number;
	recall: number;
	f1: number;
}

/**
 * Compares n-grams of words, with their counts: runs of four distinguish an article from another text on the same topic,
 * single words (`run` 1) ignore order.
 */
export function scoreText(markdown: string, gold: string, run: number): TextScore {
	const found = runsOf(wordsOf(withoutMarks(markdown)), run);
	const wanted = runsOf(wordsOf(gold), run);
	let hits = 0;
	for (const [words, count] of wanted) hits += Math.min(count, found.get(words) ?? 0);
	const precision = found.size > 0 ? hits / total(found) : wanted.size > 0 ? 0 : 1;
	const recall = wanted.size > 0 ? hits / total(wanted) : 1;
	const f1 = hits > 0 ? (2 * precision * recall) / (precision + recall) : Number(precision === 1);
	return { precision, recall, f1 };
}

function wordsOf(text: string): string[] {
	return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/**
 * The words of Markdown without what our writer adds: images, addresses of links, marks, numbers of list items. A mark separates words,
 * as it does in the gold text (`snake_case` is two), but for the asterisks of emphasis, which may be inside a word. In
 * code, every sign is the page's.
 */
function withoutMarks(markdown: string): string {
	let out = "";
	let at = 0;
	for (const { 0: block, 2: code = "", index } of markdown.matchAll(FENCED)) {
		out += `${plainText(markdown.slice(at, index))} ${code} `;
		at = index + block.length;
	}
	return out + plainText(markdown.slice(at));
}

const FENCED = /^[ >]*(?:(?:[-*]|\d+\.) +)*(`{3,})[^\n`]*\n([\s\S]*?)^[ >]*\1[ `]*$/gm;
const LABEL = String.raw`\[((?:\\.|[^\]\\])*)\]`;
const TARGET = String.raw`\((?:[^()]|\([^)]*\))*\)`;
const IMAGE = new RegExp(`!${LABEL}${TARGET}`, "g");
const LINK = new RegExp(`${LABEL}${TARGET}`, "g");

function plainText(markdown: string): string {
	return markdown
		.replace(/^([ >]*(?:[-*] +)*)\d{1,9}\. /gm, "$1")
		.replace(IMAGE, " ")
		.replace(LINK, "$1")
		.replaceAll("&lt;", "<")
		.replaceAll("*", "")
		.replaceAll("_", " ");
}

/** How often each run of so many words occurs; a shorter text is one run. */
function runsOf(words: readonly string[], length: number): Map<string, number> {
	const counts = new Map<string, number>();
	const last = words.length === 0 ? -1 : Math.max(0, words.length - length);
	for (let at = 0; at <= last; at++) {
		const run = words.slice(at, at + length).join(" ");
		counts.set(run, (counts.get(run) ?? 0) + 1);
	}
	return counts;
}

function total(counts: ReadonlyMap<string, number>): number {
	let sum = 0;
	for (const count of counts.values()) sum += count;
	return sum;
}
