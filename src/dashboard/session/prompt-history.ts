import type { Item } from "./items.ts";

/** What the user has sent in this conversation, the latest last, without repetitions in a row. */
export function sentTexts(items: readonly Item[]): string[] {
	const texts = items.flatMap((item) => {
		if (item.kind === "user") return item.text === "" ? [] : [item.text];
		return item.kind === "bash" && item.command ? [`!${item.command}`] : [];
	});
	return texts.filter((text, at) => text !== texts[at + 1]);
}

/** Where the prompt box is in the history. `draft` is what it held before. */
export interface HistoryPlace {
	/** Steps back from the end; 0 is the draft itself. */
	readonly back: number;
	readonly draft: string;
}

/** The place and its text after a step: 1 is further back, -1 is forward. Undefined at the ends. */
export function historyStep(
	texts: readonly string[],
	place: HistoryPlace,
	step: 1 | -1,
): { place: HistoryPlace; text: string } | undefined {
	const back = place.back + step;
	if (back < 0 || back > texts.length) return undefined;
	const text = back === 0 ? place.draft : (texts[texts.length - back] ?? "");
	return { place: { ...place, back }, text };
}
