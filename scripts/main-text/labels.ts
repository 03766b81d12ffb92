import type { PageTree } from "../../src/paging/extract/page-tree.ts";

/** For each block, the share of its words that the gold text has at this place. */
export function labelBlocks({ blocks }: PageTree, gold: string): number[] {
	const page: string[] = [];
	const blockOf: number[] = [];
	for (const [i, { text }] of blocks.entries()) {
		for (const word of wordsOf(text)) {
			page.push(word);
			blockOf.push(i);
		}
	}
	const found = alignedWords(page, wordsOf(gold));
	const all = new Float64Array(blocks.length);
	const hits = new Float64Array(blocks.length);
	for (const [i, block] of blockOf.entries()) {
		all[block] = (all[block] as number) + 1;
		if (found[i]) hits[block] = (hits[block] as number) + 1;
	}
	return blocks.map((_, i) =>
		(all[i] as number) > 0 ? (hits[i] as number) / (all[i] as number) : 0,
	);
}

/** The share of gold words in the smallest element that holds nearly all of them. */
export function goldShare({ nodes, blocks }: PageTree, labels: readonly number[]): number {
	const hits = [0];
	const all = [0];
	for (const [i, { text }] of blocks.entries()) {
		const words = wordsOf(text).length;
		hits.push((hits[i] as number) + words * (labels[i] as number));
		all.push((all[i] as number) + words);
	}
	let share = 0;
	let smallest = Number.POSITIVE_INFINITY;
	for (const { first, end } of nodes) {
		const found = (hits[end] as number) - (hits[first] as number);
		const words = (all[end] as number) - (all[first] as number);
		if (found < 0.9 * (hits.at(-1) as number) || words >= smallest) continue;
		smallest = words;
		share = found / Math.max(1, words);
	}
	return share;
}

export function wordsOf(text: string): string[] {
	return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

const RUN = 3;
/** Runs that occur more often are no anchors. */
const MAX_PLACES = 40;

/** Marks the words of `page` that are part of the longest common sequence of runs of three words. */
function alignedWords(page: readonly string[], gold: readonly string[]): Uint8Array {
	const found = new Uint8Array(page.length);
	const places = new Map<string, number[]>();
	const runAt = (words: readonly string[], i: number) => words.slice(i, i + RUN).join(" ");
	for (let i = 0; i + RUN <= gold.length; i++) {
		const run = runAt(gold, i);
		const list = places.get(run);
		if (list) list.push(i);
		else places.set(run, [i]);
	}
	// Hunt and Szymanski: the longest increasing sequence of matching places.
	const tails: Match[] = [];
	for (let i = 0; i + RUN <= page.length; i++) {
		const list = places.get(runAt(page, i));
		if (!list || list.length > MAX_PLACES) continue;
		for (let k = list.length - 1; k >= 0; k--) {
			const place = list[k] as number;
			let [low, high] = [0, tails.length];
			while (low < high) {
				const middle = (low + high) >> 1;
				if ((tails[middle] as Match).gold < place) low = middle + 1;
				else high = middle;
			}
			tails[low] = { page: i, gold: place, before: low > 0 ? tails[low - 1] : undefined };
		}
	}
	for (let match = tails.at(-1); match; match = match.before)
		found.fill(1, match.page, match.page + RUN);
	return found;
}

interface Match {
	readonly page: number;
	readonly gold: number;
	readonly before: Match | undefined;
}
