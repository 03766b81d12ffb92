import { type AppliedDiff, applyDiff } from "./unified.ts";

/**
 * What a reader of the request knows of one file: the newest text of each line, in an array that is as long as the
 * newest text says the file is. Holes are lines that were never shown, or of which one cannot be sure any more.
 */
export interface View {
	readonly lines: readonly Line[];
	/** Text of the file stood in the request: these lines of a file of `total` lines. */
	showLiteral(start: number, lines: readonly string[], total: number): void;
	/** A diff stood in the request. Without the whole text it was made for, nothing is known after it. */
	showDiff(diff: string): void;
	/** Something was shown that cannot be followed. */
	forget(): void;
	/** The reader was told not to rely on these lines. */
	forgetLines(start: number, end: number): void;
	/** The reader itself replaced text of the file, or wrote all of it. */
	edit(oldText: string, newText: string): void;
	write(content: string): void;
	/** Whether a text is the file as the reader takes it to be, or as it was before the reader's edits. */
	isFamiliar(text: string): boolean;
	/** What the reader takes the file to be after its own edits cannot be said: only what it was shown counts. */
	doubtEdits(): void;
	/** The whole file as known; `undefined` when a line is missing. */
	whole(): string | undefined;
	/** How many diffs lie between literal text and what is known, at most. */
	chain(): number;
	/** The lines as the reader takes them to be after its own edits. */
	believed(): readonly Line[];
	/** Whether a file of so many lines is no news. Lines not to be relied on say nothing of where the file ends. */
	endsAt(total: number): boolean;
	/** Whether a reader who believes in its own edits arrives at the right text with this diff. */
	leadsBeliefTo(diff: AppliedDiff): boolean;
}

type Line = string | undefined;

export function createView(): View {
	let lines: Line[] = [];
	let depth: number[] = [];
	/** Only while it differs from `lines`. */
	let beliefs: Line[] | undefined;
	let knowsEnd = true;

	const view: View = {
		get lines() {
			return lines;
		},
		showLiteral(start, shown, total) {
			// Shown something else than it believed, a reader knows that somebody has been at the file.
			if (beliefs && !agrees(beliefs, start, shown, total)) view.doubtEdits();
			for (const list of [lines, depth, beliefs]) if (list) list.length = total;
			for (const [index, text] of shown.entries()) {
				const at = start - 1 + index;
				lines[at] = text;
				depth[at] = 0;
				if (beliefs) beliefs[at] = text;
			}
			if (shown.length === total) beliefs = undefined;
			knowsEnd = true;
		},
		showDiff(diff) {
			const base = view.whole();
			const chain = view.chain() + 1;
			view.forget();
			if (base === undefined) return;
			try {
				lines = applyDiff(base, diff).text.split("\n");
				depth = lines.map(() => chain);
			} catch {
				// What it was made for is no longer what stands before it: nothing is certain.
			}
		},
		forget() {
			knowsEnd = true;
			lines = [];
			depth = [];
			beliefs = undefined;
		},
		forgetLines(start, end) {
			knowsEnd = false;
			for (const list of [lines, beliefs ?? []]) {
				for (let at = start - 1; at < Math.min(end, list.length); at++) list[at] = undefined;
			}
		},
		edit(oldText, newText) {
			const after = replaced(beliefs ?? Array.from(lines), oldText, newText);
			if (after) beliefs = after;
			else view.doubtEdits();
		},
		write(content) {
			beliefs = content.split("\n");
		},
		isFamiliar(text) {
			const current = text.split("\n");
			return [lines, beliefs ?? lines].some((known) => agrees(known, 1, current, current.length));
		},
		doubtEdits() {
			beliefs = new Array<Line>(lines.length).fill(undefined);
		},
		whole() {
			if (lines.length === 0 || lines.includes(undefined)) return undefined;
			return lines.join("\n");
		},
		chain: () => depth.reduce((most, each) => Math.max(most, each), 0),
		believed: () => beliefs ?? lines,
		endsAt: (total) => !knowsEnd || (lines.length === total && (beliefs ?? lines).length === total),
		leadsBeliefTo({ text, hunks }) {
			if (!beliefs || beliefs.includes(undefined) || beliefs.join("\n") === text) return true;
			if (Math.max(lines.length, beliefs.length) > 400) return true; // not worth the time it takes
			const [base, now] = [lines as string[], beliefs as string[]];
			// Where equal lines stand side by side an edit may be taken for one of either: both readings count.
			const fromStart = matches(base, now);
			const fromEnd = matches(base.toReversed(), now.toReversed())
				.map(([x, y]): [number, number] => [base.length - 1 - x, now.length - 1 - y])
				.toReversed();
			return [fromStart, fromEnd].some((kept) => patched(now, kept, hunks) === text);
		},
	};
	return view;
}

/** Whether these lines, of a file of `total` lines, are what is known of them. */
function agrees(known: Line[], start: number, shown: readonly string[], total: number): boolean {
	if (known.length !== total) return false;
	return shown.every((line, index) => [undefined, line].includes(known[start - 1 + index]));
}

/** No text of a file holds this, so it never matches. */
const UNKNOWN = "\u0000unknown\u0000";

/** Replaces a text that stands in one place; of others, lines that were never shown may hold more. */
function replaced(lines: Line[], oldText: string, newText: string): Line[] | undefined {
	const joined = lines.map((line) => line ?? UNKNOWN).join("\n");
	const at = joined.indexOf(oldText);
	if (at === -1 || oldText === "" || joined.indexOf(oldText, at + 1) !== -1) return undefined;
	const after = joined.slice(0, at) + newText + joined.slice(at + oldText.length);
	return after.split("\n").map((line) => (line.includes(UNKNOWN) ? undefined : line));
}

/** A longest common subsequence, as pairs of indices. */
function matches(base: string[], now: string[]): [number, number][] {
	const width = now.length + 1;
	const longest = new Uint16Array((base.length + 1) * width);
	for (let x = base.length - 1; x >= 0; x--) {
		for (let y = now.length - 1; y >= 0; y--) {
			const at = x * width + y;
			const [below, right] = [longest[at + width] as number, longest[at + 1] as number];
			longest[at] =
				base[x] === now[y] ? (longest[at + width + 1] as number) + 1 : Math.max(below, right);
		}
	}
	const pairs: [number, number][] = [];
	for (let x = 0, y = 0; x < base.length && y < now.length; ) {
		if (base[x] === now[y]) pairs.push([x++, y++]);
		else if ((longest[(x + 1) * width + y] as number) >= (longest[x * width + y + 1] as number))
			x++;
		else y++;
	}
	return pairs;
}

/** What becomes of the believed lines when each hunk takes the place of what lies between the lines around it. */
function patched(now: string[], kept: [number, number][], hunks: AppliedDiff["hunks"]): string {
	let after = now;
	for (const { from, to, lines } of hunks.toReversed()) {
		const start = (kept.findLast(([x]) => x < from)?.[1] ?? -1) + 1;
		const end = kept.find(([x]) => x >= to)?.[1] ?? now.length;
		after = [...after.slice(0, start), ...lines, ...after.slice(end)];
	}
	return after.join("\n");
}
