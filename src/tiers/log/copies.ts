import type { Copy, WorkingFile } from "./layout.ts";

/** One file's text in a message of the working set. */
export interface Span {
	readonly entryId: string;
	/** It stands in the slot. Of several, the last one is the slot; the others are as good as snapshots. */
	readonly inSlot: boolean;
	readonly path: string;
	readonly tokens: number;
	/** Tokens of the request behind it, without the tail. */
	readonly behind: number;
	/** It says what the file is now, and no later copy says anything else. */
	readonly live: boolean;
}

/** All texts in view in their order, each live or dead. */
export function spansOf(copies: readonly Copy[], files: readonly WorkingFile[]): Span[] {
	const current = new Map(files.map(({ path, hash }) => [path, hash]));
	const slotId = slotIn(copies);
	const superseded = new Set<string>();
	const spans: Span[] = [];
	for (const { entryId, files: held, tokensBehind } of copies.toReversed()) {
		let behind = tokensBehind;
		for (const { path, hash, tokens } of held.toReversed()) {
			const live = !superseded.has(path) && current.get(path) === hash;
			spans.push({ entryId, inSlot: entryId === slotId, path, tokens, behind, live });
			superseded.add(path);
			behind += tokens;
		}
	}
	return spans.reverse();
}

/** The slot among the messages in view. */
export function slotIn(copies: readonly Copy[]): string | undefined {
	return copies.findLast(({ kind }) => kind === "slot")?.entryId;
}

/** Tokens of the texts that are dead. */
export function deadTokens(spans: readonly Span[]): number {
	return spans.reduce((sum, { live, tokens }) => (live ? sum : sum + tokens), 0);
}

/** Messages that hold nothing live, and go without anything else being changed; the slot is never one of them. */
export function deadMessages(spans: readonly Span[]): Set<string> {
	const holding = new Set(spans.filter(({ live }) => live).map(({ entryId }) => entryId));
	const others = spans.filter(({ inSlot, entryId }) => !inSlot && !holding.has(entryId));
	return new Set(others.map(({ entryId }) => entryId));
}
