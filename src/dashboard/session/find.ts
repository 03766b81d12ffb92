import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { callSummary, editsOf } from "./call-summary.ts";
import type { ToolCall } from "./items.ts";
import type { Row } from "./rows.ts";

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
interface Match {
	/** Of its row. */
	key: string;
	/** Which jump led to it: another one to the same row is to be shown again. */
	jump: number;
}

interface FindOptions {
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

/** Looks for words in the rows of a conversation, again and again while it grows. */
interface Finder {
	/**
	 * The keys of the rows that have the words, whatever their case, in order. Stops when `isTimeUp` says so; the next call
	 * goes on from there, because nothing is looked at twice.
	 */
	look(rows: readonly Row[], words: string, isTimeUp: () => boolean): Found;
}

interface Found {
	keys: readonly string[];
	/** All rows were looked at. */
	isDone: boolean;
}

/** Asking for the time costs more than looking at a short row. */
const ROWS_A_LOOK = 64;
/** A row of so many characters is worth a look at the clock by itself. */
const LONG = 50_000;

/** Keeps the texts that it has prepared: drop it when nobody looks for anything any more. */
export function createFinder(): Finder {
	/** In lower case. */
	const texts = new WeakMap<object, string>();
	let sought = "";
	let answers = new WeakMap<object, boolean>();

	function textOf(row: Row): string {
		const source = rowSource(row);
		let text = texts.get(source);
		if (text === undefined) {
			text = rowText(row).toLowerCase();
			texts.set(source, text);
		}
		return text;
	}

	return {
		look(rows, words, isTimeUp) {
			if (words !== sought) {
				sought = words;
				answers = new WeakMap();
			}
			const keys: string[] = [];
			let sinceClock = 0;
			for (const row of rows) {
				const source = rowSource(row);
				let isFound = answers.get(source);
				if (isFound === undefined) {
					if (sinceClock >= ROWS_A_LOOK) {
						if (isTimeUp()) return { keys, isDone: false };
						sinceClock = 0;
					}
					const text = textOf(row);
					isFound = text.includes(words);
					answers.set(source, isFound);
					sinceClock += text.length > LONG ? ROWS_A_LOOK : 1;
				}
				if (isFound) keys.push(row.key);
			}
			return { keys, isDone: true };
		},
	};
}

/** All words of a row, those included that show only when it is unfolded. */
function rowText(row: Row): string {
	if (row.kind === "outcome") return row.item.error ?? "";
	if (row.kind === "block") {
		const { block } = row;
		if (block.kind === "call") return callText(block.call);
		return block.kind === "text" ? markdownText(block.text) : block.text;
	}
	const { item } = row;
	switch (item.kind) {
		case "bash":
			return `${item.command ?? ""}\n${item.output}`;
		case "custom":
			return `${item.label}\n${item.text}`;
		default:
			return item.text;
	}
}

/** What stays the same as long as the row's words do, and may serve as a key for what was made of them. */
function rowSource(row: Row): object {
	return row.kind === "block" ? row.block : row.item;
}

/** As it is written, and as it reads once its marks have become bold words and code. */
function markdownText(source: string): string {
	const read = source.replaceAll(/[*_`]+/g, "");
	return read.length === source.length ? source : `${source}\n${read}`;
}

function callText(call: ToolCall): string {
	const edits = editsOf(call.args).flatMap(({ oldText, newText }) => [oldText, newText]);
	const args = call.args === undefined ? call.argsText : (JSON.stringify(call.args) ?? "");
	// Paths and commands read as they are in the summary, edits as they are shown; JSON writes some letters otherwise.
	return [call.name, callSummary(call), args, ...edits, call.output].join("\n");
}
