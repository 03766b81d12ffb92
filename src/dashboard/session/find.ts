import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { callSummary, editsOf, type ToolCall } from "./items.ts";
import type { Row } from "./row-view.tsx";

/** A search in a conversation. The list draws few of its rows, so the browser's own search misses most. */
export type Find = ReturnType<typeof createFind>;

interface FindOptions {
	soon(work: () => void): () => void;
	now(): number;
}

const TYPING_PAUSE_MS = 120;
/** The search runs in slices, so that the page stays responsive. */
const SLICE_MS = 8;
const NOTHING: Found = { keys: [], isDone: true };

/** Nothing is kept after `close`. */
export function createFind(rows: ReadonlySignal<readonly Row[]>, { soon, now }: FindOptions) {
	const isOpen = signal(false);
	/** Grows when the box should take the focus. */
	const openings = signal(0);
	const typed = signal("");
	/** The words searched for, in lower case. Follows `typed` after a pause. */
	const words = signal("");
	const found = signal<Found>(NOTHING);
	/** A second jump to the same row scrolls again. */
	const current = signal<{ key: string; jump: number } | undefined>(undefined);
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
		cancelLook?.();
		cancelLook = undefined;
		finder = undefined;
		typed.value = "";
		begin();
	}

	function type(text: string): void {
		typed.value = text;
		clearTimeout(typingTimer);
		typingTimer = setTimeout(begin, TYPING_PAUSE_MS);
	}

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

	function startFrom(key: string | undefined): void {
		origin = key;
	}

	function step(by: 1 | -1): void {
		const { keys } = found.value;
		const at = keys.indexOf(current.value?.key ?? "");
		const next = keys.at((at + by) % keys.length);
		// Enter before the pause is over goes to the first match.
		if (typingTimer !== undefined) begin();
		else if (next !== undefined) jumpTo(next);
	}

	return { isOpen, openings, typed, words, found, current, open, close, type, startFrom, step };
}

/** The first match from the origin on, else the last before it. Undefined while more rows are to be searched. */
function firstFrom(origin: string | undefined, rows: readonly Row[], { keys, isDone }: Found) {
	const from = rows.findIndex(({ key }) => key === origin);
	const matches = new Set(keys);
	const below = rows.slice(Math.max(0, from)).find(({ key }) => matches.has(key));
	return below?.key ?? (isDone ? keys.at(-1) : undefined);
}

function isSame(a: Found, b: Found): boolean {
	const hasSame = a.keys.length === b.keys.length && a.keys.every((key, at) => key === b.keys[at]);
	return hasSame && a.isDone === b.isDone;
}

type Finder = ReturnType<typeof createFinder>;

interface Found {
	keys: readonly string[];
	isDone: boolean;
}

/** Reading the clock costs more than searching a short row. */
const ROWS_A_LOOK = 64;
/** A row this long counts like many. */
const LONG = 50_000;

export function createFinder() {
	const texts = new WeakMap<object, string>();
	let sought = "";
	let answers = new WeakMap<object, boolean>();

	/** The keys of matching rows, in order. Stops when `isTimeUp`; the next call continues, because results are cached. */
	function look(rows: readonly Row[], words: string, isTimeUp: () => boolean): Found {
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
				const text = texts.get(source) ?? rowText(row).toLowerCase();
				texts.set(source, text);
				isFound = text.includes(words);
				answers.set(source, isFound);
				sinceClock += text.length > LONG ? ROWS_A_LOOK : 1;
			}
			if (isFound) keys.push(row.key);
		}
		return { keys, isDone: true };
	}

	return { look };
}

/** All words of a row, folded ones included. */
function rowText(row: Row): string {
	if (row.kind === "outcome") return row.item.error ?? "";
	if (row.kind === "block") {
		const { block } = row;
		if (block.kind === "call") return callText(block.call);
		return block.kind === "text" ? markdownText(block.text) : block.text;
	}
	const { item } = row;
	if (item.kind === "bash") return `${item.command ?? ""}\n${item.output}`;
	return item.kind === "custom" ? `${item.label}\n${item.text}` : item.text;
}

/** A cache key that lives as long as the row's words. */
function rowSource(row: Row): object {
	return row.kind === "block" ? row.block : row.item;
}

/** With and without the marks of bold words and code. */
function markdownText(source: string): string {
	const read = source.replaceAll(/[*_`]+/g, "");
	return read.length === source.length ? source : `${source}\n${read}`;
}

function callText(call: ToolCall): string {
	const edits = editsOf(call.args).flatMap(({ oldText, newText }) => [oldText, newText]);
	const args = call.args === undefined ? call.argsText : (JSON.stringify(call.args) ?? "");
	// JSON escapes some letters of paths, commands and edits, so they are added as they are.
	return [call.name, callSummary(call), args, ...edits, call.output].join("\n");
}
