import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { Row } from "../rows.ts";
import { createFinder, type Finder, type Found } from "./finder.ts";

/** Somebody looks for words in a conversation. The list draws few of its rows, so the browser's own search misses most. */
export interface Find {
	readonly isOpen: ReadonlySignal<boolean>;
	/** Grows whenever somebody wants to type: the box should take the focus. */
	readonly openings: ReadonlySignal<number>;
	readonly typed: ReadonlySignal<string>;
	/** What is looked for, in lower case; empty while nothing is. Follows what is typed after a pause. */
	readonly words: ReadonlySignal<string>;
	/** The rows that have the words. Grows with the conversation. */
	readonly found: ReadonlySignal<Found>;
	readonly current: ReadonlySignal<Match | undefined>;
	open(): void;
	close(): void;
	type(text: string): void;
	/** Where the reader is: what is found there, or next below, is shown first. */
	startFrom(key: string | undefined): void;
	/** To the next match or the one before, around the ends. */
	step(by: 1 | -1): void;
}

/** The match that is looked at. */
export interface Match {
	/** Of its row. */
	key: string;
	/** Which jump led to it: another one to the same row is to be shown again. */
	jump: number;
}

export interface FindOptions {
	/** Calls back before the next picture is drawn; returns how to prevent it. */
	soon(work: () => void): () => void;
	/** Milliseconds. */
	now(): number;
}

const TYPING_PAUSE_MS = 120;
/** Looking goes on in slices, so that the page stays quick meanwhile. */
const SLICE_MS = 8;
const NOTHING: Found = { keys: [], isDone: true };

/** Nothing is looked for before `open`, and nothing is kept after `close`. */
export function createFind(rows: ReadonlySignal<readonly Row[]>, { soon, now }: FindOptions): Find {
	const isOpen = signal(false);
	const openings = signal(0);
	const typed = signal("");
	const words = signal("");
	const found = signal<Found>(NOTHING);
	const current = signal<Match | undefined>(undefined);
	let finder: Finder | undefined;
	let stopWatching: (() => void) | undefined;
	let typingTimer: ReturnType<typeof setTimeout> | undefined;
	let cancelLook: (() => void) | undefined;
	let origin: string | undefined;
	let jumps = 0;

	function open(): void {
		openings.value++;
		if (isOpen.value) return;
		isOpen.value = true;
		finder = createFinder();
		stopWatching = effect(() => {
			void rows.value;
			lookSoon();
		});
	}

	function close(): void {
		isOpen.value = false;
		stopWatching?.();
		clearTimeout(typingTimer);
		typingTimer = undefined;
		cancelLook?.();
		cancelLook = undefined;
		finder = undefined;
		typed.value = "";
		words.value = "";
		found.value = NOTHING;
		current.value = undefined;
	}

	function type(text: string): void {
		typed.value = text;
		clearTimeout(typingTimer);
		typingTimer = setTimeout(begin, TYPING_PAUSE_MS);
	}

	/** What is typed becomes what is looked for. */
	function begin(): void {
		clearTimeout(typingTimer);
		typingTimer = undefined;
		words.value = typed.value.trim() === "" ? "" : typed.value.toLowerCase();
		found.value = NOTHING;
		current.value = undefined;
		look();
	}

	function lookSoon(): void {
		cancelLook ??= soon(look);
	}

	function look(): void {
		cancelLook?.();
		cancelLook = undefined;
		if (!finder || words.peek() === "") return;
		const until = now() + SLICE_MS;
		const next = finder.look(rows.peek(), words.peek(), () => now() > until);
		if (!isSame(next, found.peek())) found.value = next;
		const isKept = next.keys.includes(current.peek()?.key ?? "");
		const first = isKept ? undefined : firstFrom(origin, rows.peek(), next);
		if (first !== undefined) jumpTo(first);
		else if (!isKept && next.isDone) current.value = undefined;
		if (!next.isDone) lookSoon();
	}

	function jumpTo(key: string): void {
		origin = key;
		current.value = { key, jump: ++jumps };
	}

	return {
		isOpen,
		openings,
		typed,
		words,
		found,
		current,
		open,
		close,
		type,
		startFrom(key) {
			origin = key;
		},
		step(by) {
			// Whoever is faster than the pause wants to see the first match.
			if (typingTimer !== undefined) return begin();
			const { keys } = found.value;
			const at = keys.indexOf(current.value?.key ?? "");
			const next = keys.at((at + by) % keys.length);
			if (next !== undefined) jumpTo(next);
		},
	};
}

/** The first match at the origin or below it, or else the last above it. Undefined while it may still be found. */
function firstFrom(
	origin: string | undefined,
	rows: readonly Row[],
	{ keys, isDone }: Found,
): string | undefined {
	const from = rows.findIndex(({ key }) => key === origin);
	const matches = new Set(keys);
	const below = rows.slice(Math.max(0, from)).find(({ key }) => matches.has(key));
	return below?.key ?? (isDone ? keys.at(-1) : undefined);
}

function isSame(a: Found, b: Found): boolean {
	return (
		a.isDone === b.isDone &&
		a.keys.length === b.keys.length &&
		a.keys.every((key, at) => key === b.keys[at])
	);
}
