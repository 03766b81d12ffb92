import type { Copy, WorkingFile } from "./layout.ts";

/** One file's text in a message of the working set. */
export interface Span {
	readonly entryId: string;
	/** It stands in the slot. Of several, the last one is the slot; the others are as good as snapshots. */
	readonly inSlot: boolean;
	readonly path: string;
	readonly hash: string;
	readonly tokens: number;
	/** Tokens of the request behind it, without the tail. */
	readonly behind: number;
	/** It says what the file is now, and no later copy says anything else. */
	readonly live: boolean;
}

/** All texts in view in their order, each live or dead. */
export function spansOf(copies: readonly Copy[], files: readonly WorkingFile[]): Span[] {
	const slotId = slotIn(copies);
	const spans = copies.flatMap(({ entryId, files: held, tokensBehind }) => {
		let behind = tokensBehind + held.reduce((sum, { tokens }) => sum + tokens, 0);
		return held.map((file): Span => {
			behind -= file.tokens;
			return { ...file, entryId, inSlot: entryId === slotId, behind, live: false };
		});
	});
	return judged(spans, files);
}

/** The same spans, live or dead as if they were all there is: without a later copy, an earlier one may count again. */
export function judged(spans: readonly Span[], files: readonly WorkingFile[]): Span[] {
	const current = new Map(files.map(({ path, hash }) => [path, hash]));
	const last = new Map(spans.map(({ path }, at) => [path, at]));
	return spans.map((span, at) => ({
		...span,
		live: last.get(span.path) === at && current.get(span.path) === span.hash,
	}));
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
