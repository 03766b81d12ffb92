import { bytesOf, clip, clipMiddle } from "../text/clip.ts";
import { grouped } from "../text/figures.ts";

/**
 * An answer as an outline: parts with a head and items. What does not fit a budget is left out item by item, and
 * each part says how many are missing, so that a shortened answer is still well formed.
 */
export type Outline = readonly Part[];

export interface Part {
	/** Lines that are shown as long as anything of the part is. */
	readonly head: readonly string[];
	/** Best first. An item is shown whole or not at all; it may have several lines. */
	readonly items: readonly string[];
}

/** A part that counts its items in the head, or no part if there are none. */
export function section<Item>(
	name: string,
	list: readonly Item[],
	line: (item: Item) => string,
	total = list.length,
): Part[] {
	if (list.length === 0) return [];
	return [{ head: [`${name} (${grouped(total)}):`], items: list.map(line) }];
}

/** What {@link fitText} made of an answer. */
export interface Fitted {
	readonly text: string;
	/** Which of the forms was taken. */
	readonly form: number;
	/** Whether items of that form are missing. */
	readonly cut: boolean;
}

/** All of an outline. */
export function wholeText(outline: Outline): string {
	return outline.flatMap(({ head, items }) => [...head, ...items]).join("\n");
}

/**
 * The text of at most `maxBytes` that tells most: the first of the forms that fits as a whole, or else as much as
 * fits of the last. Forms go from the fullest to the briefest, and are only made when it is their turn.
 */
export function fitText(forms: readonly (() => Outline)[], maxBytes: number): Fitted {
	let outline: Outline = [];
	for (const [form, make] of forms.entries()) {
		outline = make();
		const text = wholeText(outline);
		if (bytesOf(text) <= maxBytes) return { text, form, cut: false };
	}
	return { text: cutText(outline, maxBytes), form: forms.length - 1, cut: true };
}

/** No single line of a head may take more than this share of the budget. */
const HEAD_SHARE = 1 / 4;

/** Parts share the room: each gets one more item in turn, until its next one does not fit. */
function cutText(outline: Outline, maxBytes: number): string {
	const parts = withinHeads(outline, maxBytes).map(({ head, items }) => ({
		head,
		items,
		shown: 0,
		open: items.length > 0,
	}));
	// The note on what is missing is reserved from the start; a line costs its line feed too.
	let room = maxBytes;
	for (const { head, items } of parts) {
		for (const line of head) room -= bytesOf(line) + 1;
		if (items.length > 0) room -= bytesOf(missing(items.length)) + 1;
	}
	while (parts.some(({ open }) => open)) {
		for (const part of parts) {
			if (!part.open) continue;
			const cost = bytesOf(part.items[part.shown] ?? "") + 1;
			if (cost > room) {
				part.open = false;
				continue;
			}
			room -= cost;
			part.shown++;
			part.open = part.shown < part.items.length;
		}
	}
	const lines = parts.flatMap(({ head, items, shown }) => [
		...head,
		...items.slice(0, shown),
		...(shown < items.length ? [missing(items.length - shown)] : []),
	]);
	// Holds even for a budget that the heads alone exceed.
	return clip(lines.join("\n"), maxBytes);
}

/** The leading parts whose heads, with their notes, leave room for items; long lines in them are shortened. */
function withinHeads(outline: Outline, maxBytes: number): Part[] {
	const most = Math.floor(maxBytes * HEAD_SHARE);
	const parts: Part[] = [];
	let used = 0;
	for (const { head, items } of outline) {
		const lines = head.map((line) => clipMiddle(line, most));
		used += lines.reduce((sum, line) => sum + bytesOf(line) + 1, NOTE_BYTES);
		if (parts.length > 0 && used > maxBytes) break;
		parts.push({ head: lines, items });
	}
	return parts;
}

/** Room for one note of {@link missing}. */
const NOTE_BYTES = 24;

function missing(items: number): string {
	return `  … ${grouped(items)} more`;
}
