/** Compares our text of a PDF with `pdftotext` (poppler-utils), page by page. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A page as poppler lays it out: blocks of lines, each a list of words. */
export interface PopplerPage {
	readonly width: number;
	readonly blocks: readonly PopplerBlock[];
}

interface PopplerBlock {
	readonly left: number;
	readonly right: number;
	readonly lines: readonly (readonly string[])[];
}

/** The first pages of a document by `pdftotext -bbox-layout`; `undefined` if it cannot read the file. */
export async function popplerPages(
	file: string,
	lastPage: number,
): Promise<PopplerPage[] | undefined> {
	const args = ["-q", "-bbox-layout", "-l", `${lastPage}`, file, "-"];
	const limits = { maxBuffer: 200_000_000, timeout: 60_000 };
	const found = await run("pdftotext", args, limits).catch(() => undefined);
	if (!found) return undefined;
	return found.stdout
		.split("<page ")
		.slice(1)
		.map((page) => ({
			width: Number(/width="([\d.]+)"/.exec(page)?.[1]),
			blocks: page.split("<block ").slice(1).map(blockOf),
		}));
}

function blockOf(block: string): PopplerBlock {
	const edge = (name: string) => Number(new RegExp(`${name}="([-\\d.]+)"`).exec(block)?.[1]);
	const lines = block
		.split("<line ")
		.slice(1)
		.map((line) =>
			Array.from(line.matchAll(/<word [^>]*>([^<]*)</g), ([, word = ""]) => decoded(word)),
		);
	return { left: edge("xMin"), right: edge("xMax"), lines };
}

function decoded(text: string): string {
	return text
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&quot;", '"')
		.replaceAll("&amp;", "&");
}

/** Words without case, accents of composition and hyphens at line ends. A Chinese or Japanese character is a word. */
export function wordsOf(text: string): string[] {
	const joined = text
		.normalize("NFKC")
		.toLowerCase()
		.replace(/[\u00ad\u2010-]\s*\n\s*(?=\p{L})/gu, "");
	return (
		joined.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}\p{M}]+/gu) ??
		[]
	);
}

/** The text of the first pages by `pdftotext`. */
export async function popplerTexts(file: string, lastPage: number): Promise<string[]> {
	const limits = { maxBuffer: 200_000_000, timeout: 60_000 };
	const { stdout } = await run("pdftotext", ["-q", "-l", `${lastPage}`, file, "-"], limits);
	return stdout.split("\f").slice(0, -1);
}

/**
 * How many of the expected words are there, each as often as expected. A word that one side writes in pieces, or joined to
 * its neighbour (a mark of a footnote), counts as well: its letters are there.
 */
export function recalled(expected: readonly string[], found: readonly string[]): number {
	const left = new Map<string, number>();
	for (const word of expected) left.set(word, (left.get(word) ?? 0) + 1);
	const rest: string[] = [];
	for (const word of found) {
		const more = left.get(word) ?? 0;
		if (more === 0) rest.push(word);
		else left.set(word, more - 1);
	}
	let [letters, count] = [rest.join(""), expected.length];
	const missing = [...left].flatMap(([word, more]) => Array<string>(more).fill(word));
	for (const word of missing.toSorted((a, b) => b.length - a.length)) {
		const at = letters.indexOf(word);
		if (at === -1) count--;
		else letters = `${letters.slice(0, at)} ${letters.slice(at + word.length)}`;
	}
	return count;
}

/** Lines of prose in a column, at least. */
const MIN_LINES = 10;

/** Whether the page has two columns of prose, most of its text in them. */
export function hasTwoColumns({ width, blocks }: PopplerPage): boolean {
	const middle = width / 2;
	const words = (list: readonly PopplerBlock[]) => list.flatMap(({ lines }) => lines.flat()).length;
	const prose = blocks.filter(({ lines }) => lines.flat().length >= 4 * lines.length);
	const left = prose.filter((block) => block.right < middle + width * 0.03);
	const right = prose.filter((block) => block.left > middle - width * 0.03);
	const linesOf = (list: readonly PopplerBlock[]) => list.flatMap(({ lines }) => lines).length;
	return (
		linesOf(left) >= MIN_LINES &&
		linesOf(right) >= MIN_LINES &&
		words(left) + words(right) >= 0.6 * words(blocks)
	);
}

/** A line is known by so many of its first letters, and may be so many letters away: numbers of lines, marks of notes. */
const LINE_START = 10;
const MAX_BETWEEN = 25;

/** The share of lines of prose that are followed in the text by the next line of their block. Spaces do not count. */
export function orderKept({ blocks }: PopplerPage, text: string): number {
	const lettersOf = (part: string) => wordsOf(part).join("");
	const all = lettersOf(text);
	let [pairs, kept] = [0, 0];
	for (const { lines } of blocks) {
		for (const [i, line] of lines.entries()) {
			const [above, below] = [line, lines[i + 1] ?? []].map((words) => lettersOf(words.join(" ")));
			// Shorter lines are headings, formulas or rows of a table, which either reader puts into its own order.
			if (!above || !below || Math.min(above.length, below.length) < 2 * LINE_START) continue;
			const end = above.slice(-LINE_START);
			pairs++;
			for (let at = all.indexOf(end); at !== -1; at = all.indexOf(end, at + 1)) {
				const next = all.indexOf(below.slice(0, LINE_START), at);
				if (next === -1 || next > at + LINE_START + MAX_BETWEEN) continue;
				kept++;
				break;
			}
		}
	}
	return pairs === 0 ? 1 : kept / pairs;
}
