import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { callSummary, editsOf, type ToolCall } from "./items.ts";
import type { Row } from "./row-view.tsx";

interface SearchOptions {
	onNextFrame(work: () => void): () => void;
	now(): number;
}

const DEBOUNCE_MS = 120;
/** The search runs in slices of this length, so that the page stays responsive. */
const SLICE_MS = 8;
const NO_MATCHES: Matches = { keys: [], isDone: true };

/** Searches all rows of a conversation. The browser's search sees only drawn rows. `close` drops state. */
export class ConversationSearch {
	readonly isOpen = signal(false);
	/** Incremented when the search box should take the focus. */
	readonly openings = signal(0);
	readonly input = signal("");
	/** The input in lower case, debounced. */
	readonly query = signal("");
	readonly matches = signal<Matches>(NO_MATCHES);
	/** The current match. Each jump increments `jump`, so that a second jump to the same row scrolls again. */
	readonly current = signal<{ key: string; jump: number } | undefined>(undefined);
	readonly #rows: ReadonlySignal<readonly Row[]>;
	readonly #options: SearchOptions;
	#matcher: RowMatcher | undefined;
	#stopWatching: (() => void) | undefined;
	#debounceTimer: ReturnType<typeof setTimeout> | undefined;
	#cancelSlice: (() => void) | undefined;
	#origin: string | undefined;
	#jumps = 0;

	constructor(rows: ReadonlySignal<readonly Row[]>, options: SearchOptions) {
		this.#rows = rows;
		this.#options = options;
	}

	open(): void {
		this.openings.value++;
		if (this.isOpen.value) return;
		this.isOpen.value = true;
		this.#matcher = createRowMatcher();
		this.#stopWatching = effect(() => {
			void this.#rows.value;
			this.#schedule();
		});
	}

	close(): void {
		this.isOpen.value = false;
		this.#stopWatching?.();
		this.#matcher = undefined;
		this.input.value = "";
		this.#start();
	}

	type(text: string): void {
		this.input.value = text;
		clearTimeout(this.#debounceTimer);
		this.#debounceTimer = setTimeout(() => this.#start(), DEBOUNCE_MS);
	}

	startFrom(key: string | undefined): void {
		this.#origin = key;
	}

	step(by: 1 | -1): void {
		const { keys } = this.matches.value;
		const at = keys.indexOf(this.current.value?.key ?? "");
		const next = keys.at((at + by) % keys.length);
		// During the debounce, Enter starts the search and goes to the first match.
		if (this.#debounceTimer !== undefined) this.#start();
		else if (next !== undefined) this.#jumpTo(next);
	}

	#start(): void {
		clearTimeout(this.#debounceTimer);
		this.#debounceTimer = undefined;
		this.query.value = this.input.value.trim() === "" ? "" : this.input.value.toLowerCase();
		this.matches.value = NO_MATCHES;
		this.current.value = undefined;
		this.#runSlice();
	}

	#schedule(): void {
		this.#cancelSlice ??= this.#options.onNextFrame(() => this.#runSlice());
	}

	#runSlice(): void {
		this.#cancelSlice?.();
		this.#cancelSlice = undefined;
		const query = this.query.peek();
		if (!this.#matcher || query === "") return;
		const rows = this.#rows.peek();
		const { now } = this.#options;
		const until = now() + SLICE_MS;
		const next = this.#matcher.match(rows, query, () => now() > until);
		if (!isSame(next, this.matches.peek())) this.matches.value = next;
		const isKept = next.keys.includes(this.current.peek()?.key ?? "");
		const first = isKept ? undefined : firstFrom(this.#origin, rows, next);
		if (first !== undefined) this.#jumpTo(first);
		else if (!isKept && next.isDone) this.current.value = undefined;
		if (!next.isDone) this.#schedule();
	}

	#jumpTo(key: string): void {
		this.#origin = key;
		this.current.value = { key, jump: ++this.#jumps };
	}
}

/** The first match at or after `origin`. If there is none and the search is done, the last match. */
function firstFrom(origin: string | undefined, rows: readonly Row[], { keys, isDone }: Matches) {
	const from = rows.findIndex(({ key }) => key === origin);
	const matching = new Set(keys);
	const below = rows.slice(Math.max(0, from)).find(({ key }) => matching.has(key));
	return below?.key ?? (isDone ? keys.at(-1) : undefined);
}

function isSame(a: Matches, b: Matches): boolean {
	const hasSame = a.keys.length === b.keys.length && a.keys.every((key, at) => key === b.keys[at]);
	return hasSame && a.isDone === b.isDone;
}

type Matches = { readonly keys: readonly string[]; readonly isDone: boolean };

type RowMatcher = ReturnType<typeof createRowMatcher>;

/** Rows searched between two reads of the clock. A read costs more than searching a short row. */
const ROWS_PER_CLOCK = 64;
/** A row with more characters than this counts as `ROWS_PER_CLOCK` rows. */
const LONG_TEXT = 50_000;

export function createRowMatcher() {
	const texts = new WeakMap<object, string>();
	let lastQuery = "";
	/** Memo: whether a row matches `lastQuery`. */
	let results = new WeakMap<object, boolean>();

	/** Stops when `isTimeUp` returns true. The next call continues, because results are memoized. */
	function match(rows: readonly Row[], query: string, isTimeUp: () => boolean): Matches {
		if (query !== lastQuery) {
			lastQuery = query;
			results = new WeakMap();
		}
		const keys: string[] = [];
		let sinceClock = 0;
		for (const row of rows) {
			const source = rowSource(row);
			let isMatch = results.get(source);
			if (isMatch === undefined) {
				if (sinceClock >= ROWS_PER_CLOCK) {
					if (isTimeUp()) return { keys, isDone: false };
					sinceClock = 0;
				}
				const text = texts.get(source) ?? rowText(row).toLowerCase();
				texts.set(source, text);
				isMatch = text.includes(query);
				results.set(source, isMatch);
				sinceClock += text.length > LONG_TEXT ? ROWS_PER_CLOCK : 1;
			}
			if (isMatch) keys.push(row.key);
		}
		return { keys, isDone: true };
	}

	return { match };
}

/** All text of a row, including folded parts. */
function rowText(row: Row): string {
	if (row.kind === "outcome") return row.item.error ?? "";
	if (row.kind === "turn") return "";
	if (row.kind === "block") {
		const { block } = row;
		if (block.kind === "call") return callText(block.call);
		return block.kind === "text" ? markdownText(block.text) : block.text;
	}
	const { item } = row;
	if (item.kind === "bash") return `${item.command ?? ""}\n${item.output}`;
	return item.kind === "custom" ? `${item.label}\n${item.text}` : item.text;
}

/** The memo key of a row: the immutable object that holds its text. */
function rowSource(row: Row): object {
	if (row.kind === "turn") return row.turn;
	return row.kind === "block" ? row.block : row.item;
}

/** The source, plus a copy without `*`, `_` and backticks, so that a query may omit them. */
function markdownText(source: string): string {
	const read = source.replaceAll(/[*_`]+/g, "");
	return read.length === source.length ? source : `${source}\n${read}`;
}

function callText(call: ToolCall): string {
	const edits = editsOf(call.args).flatMap(({ oldText, newText }) => [oldText, newText]);
	const args = call.args === undefined ? call.argsText : (JSON.stringify(call.args) ?? "");
	// JSON escapes some characters, so the summary and the edits are added unescaped.
	return [call.name, callSummary(call), args, ...edits, call.output].join("\n");
}
