import type { PageSpan, PdfPage } from "./pdf-worker.ts";

export type ReadSpan = (span: PageSpan, signal?: AbortSignal) => Promise<PdfPage[]>;

interface ReadAheadOptions {
	readonly totalPages: number;
	readonly workers: number;
	readonly read: ReadSpan;
	/** Returns milliseconds since any fixed time. Default: `performance.now`. */
	readonly now?: () => number;
}

/** Pages per slice when several slices are in flight. Reading 16 or 4 pages takes about 20 or 5 ms. */
const MAX_SLICE = 16;
const MIN_SLICE = 4;
/** A slice ends early at this length, which bounds the memory of the read-ahead. */
const SLICE_CHARS = 200_000;
/** Calls for fewer characters are not shared: they finish before a second worker has started. */
const BULK_CHARS = 200_000;
/** Three calls in a row, each within this time of the previous one, come from a program, not a model. */
const QUICK_MS = 100;
const QUICK_CALLS = 2;

/** Reads on demand until quick calls go through the document in order. Then all workers read ahead. */
export class ReadAhead {
	readonly #options: ReadAheadOptions;
	readonly #now: () => number;
	// Kept because a chunk often ends within or before this page, and the next chunk begins there.
	#lastPage: PdfPage | undefined;
	#lastReadAt = Number.NEGATIVE_INFINITY;
	#quickCalls = 0;
	#prefetch: Prefetch | undefined;
	/** A slice fails if one of its pages fails. The document is then read on demand. */
	#hasFailed = false;

	constructor(options: ReadAheadOptions) {
		this.#options = options;
		this.#now = options.now ?? (() => performance.now());
	}

	readonly stop = (): void => {
		this.#prefetch?.stop.abort();
		this.#prefetch = undefined;
	};

	async read(span: PageSpan, signal?: AbortSignal): Promise<PdfPage[]> {
		const { totalPages, read } = this.#options;
		const cached = this.#lastPage;
		const offset = cached ? span.first - cached.number : -1;
		const isQuick = (offset === 0 || offset === 1) && this.#now() - this.#lastReadAt <= QUICK_MS;
		this.#quickCalls = isQuick ? this.#quickCalls + 1 : 0;
		const known = cached && offset === 0 ? [cached] : [];
		const rest = {
			first: span.first + known.length,
			last: span.last,
			maxChars: span.maxChars - (known[0]?.text.length ?? 0),
		};
		const isBulk = rest.maxChars >= BULK_CHARS && rest.last - rest.first >= 2 * MIN_SLICE;
		const isShared = !this.#hasFailed && (isBulk || this.#quickCalls >= QUICK_CALLS);
		if (!isShared) this.stop();
		const found = isShared
			? await this.#readShared(rest, isBulk ? rest.last : totalPages, signal)
			: await read(rest, signal);
		const pages = [...known, ...found];
		this.#lastPage = pages.at(-1);
		this.#lastReadAt = this.#now();
		return pages;
	}

	/** All workers share the span and prefetch up to page `limit`. */
	async #readShared(span: PageSpan, limit: number, signal?: AbortSignal): Promise<PdfPage[]> {
		const options = this.#options;
		const pages: PdfPage[] = [];
		signal?.addEventListener("abort", this.stop);
		try {
			let { first, maxChars: left } = span;
			while (first <= span.last && left > 0) {
				if (!this.#prefetch || !covers(this.#prefetch, first)) {
					this.stop();
					this.#prefetch = startPrefetch(first, limit, options.workers);
				}
				const current: Prefetch = this.#prefetch;
				const slice = advance(current, first, options) as Slice;
				const found = await slice.pages.catch(() => undefined);
				if (!found) {
					this.#hasFailed ||= !current.stop.signal.aborted;
					current.stop.abort();
					const rest = await options.read({ ...span, first, maxChars: left }, signal);
					return [...pages, ...rest];
				}
				for (const page of found) {
					if (page.number !== first || first > span.last || left <= 0) continue;
					pages.push(page);
					left -= page.text.length;
					first++;
				}
				const end = found.at(-1)?.number ?? 0;
				if (first > end && end < slice.last) this.stop();
			}
			if (this.#prefetch) advance(this.#prefetch, first, options);
			return pages;
		} finally {
			signal?.removeEventListener("abort", this.stop);
		}
	}
}

interface Prefetch {
	readonly slices: Slice[];
	next: number;
	readonly limit: number;
	readonly size: number;
	readonly stop: AbortController;
}

interface Slice {
	readonly first: number;
	readonly last: number;
	readonly pages: Promise<PdfPage[]>;
}

function startPrefetch(first: number, limit: number, workers: number): Prefetch {
	// At least two slices per worker; otherwise some workers would idle at the end of a short document.
	const share = Math.ceil((limit - first + 1) / (2 * workers));
	const size = Math.min(MAX_SLICE, Math.max(MIN_SLICE, share));
	return { slices: [], next: first, limit, size, stop: new AbortController() };
}

function covers({ slices, next, limit }: Prefetch, page: number): boolean {
	const first = slices[0]?.first ?? next;
	return page >= first && page <= next && page <= limit;
}

function advance(prefetch: Prefetch, page: number, { workers, read }: ReadAheadOptions) {
	while (prefetch.slices[0] && prefetch.slices[0].last < page) prefetch.slices.shift();
	// One slice more in flight than there are workers, so that a worker never waits for a slice.
	while (prefetch.next <= prefetch.limit && prefetch.slices.length <= workers) {
		const first = prefetch.next;
		const last = Math.min(first + prefetch.size - 1, prefetch.limit);
		const pages = read({ first, last, maxChars: SLICE_CHARS }, prefetch.stop.signal);
		pages.catch(() => {}); // handled when the slice is served, if ever
		prefetch.slices.push({ first, last, pages });
		prefetch.next = last + 1;
	}
	return prefetch.slices[0];
}
