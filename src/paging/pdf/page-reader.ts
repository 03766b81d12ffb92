import type { PdfPage } from "./pdf-worker.ts";

/** A number of pages, from `first` to `last`; fewer when their text reaches `maxChars`, never less than one page. */
export interface PageSpan {
	first: number;
	last: number;
	maxChars: number;
}

export type ReadSpan = (span: PageSpan, signal?: AbortSignal) => Promise<PdfPage[]>;

/** Reads the pages of one document. */
export interface PageReader {
	read: ReadSpan;
	/** Ends what goes on in advance. */
	stop(): void;
}

export interface PageReaderOptions {
	totalPages: number;
	/** How many spans can be worked on at the same time. */
	width: number;
	/** Does the work. */
	read: ReadSpan;
	/** Milliseconds; only differences count. Default: `performance.now`. */
	now?: () => number;
}

/** Most and fewest pages of one piece of work when several are under way: some 20 and 5 ms. */
const MAX_SLICE = 16;
const MIN_SLICE = 4;
/** A piece of work ends early with this much text, which bounds what waits to be asked for. */
const SLICE_CHARS = 200_000;
/** From so many characters on a call is worth sharing out: less is done before a second worker has started. */
const BULK_CHARS = 200_000;
/** Who continues within this time, three calls in a row, is a program going through the document, not a model. */
const QUICK_MS = 100;
const QUICK_CALLS = 2;

/**
 * Reads what is asked for and nothing else, until somebody goes through the document: then slices of it are read in
 * advance, as many as there are workers, so that all of them are busy while the pages are served in order.
 */
export function createPageReader(options: PageReaderOptions): PageReader {
	const { totalPages, now = () => performance.now() } = options;
	// A chunk often ends within its last page or before it, and the next one begins there.
	let served: PdfPage | undefined;
	let servedAt = Number.NEGATIVE_INFINITY;
	let quickCalls = 0;
	let run: Run | undefined;
	/** A page that fails is met again by every slice with it: better to meet it when it is asked for. */
	let isUnsafe = false;

	const stop = () => {
		run?.stop.abort();
		run = undefined;
	};

	const readInAdvance = async (span: PageSpan, limit: number, signal?: AbortSignal) => {
		const pages: PdfPage[] = [];
		signal?.addEventListener("abort", stop);
		try {
			let { first, maxChars: left } = span;
			while (first <= span.last && left > 0) {
				if (!run || !covers(run, first)) {
					stop();
					run = startRun(first, limit, options.width);
				}
				const current: Run = run;
				const slice = advance(current, first, options) as Slice;
				const found = await slice.pages.catch(() => undefined);
				if (!found) {
					// Stopped, by this call or by another one on the same document; or a page of it fails.
					isUnsafe ||= !current.stop.signal.aborted;
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
				if (first > end && end < slice.last) stop();
			}
			if (run) advance(run, first, options);
			return pages;
		} finally {
			signal?.removeEventListener("abort", stop);
		}
	};

	return {
		stop,
		read: async (span, signal) => {
			const offset = served ? span.first - served.number : -1;
			const isQuick = (offset === 0 || offset === 1) && now() - servedAt <= QUICK_MS;
			quickCalls = isQuick ? quickCalls + 1 : 0;
			const known = served && offset === 0 ? [served] : [];
			const rest = {
				first: span.first + known.length,
				last: span.last,
				maxChars: span.maxChars - (known[0]?.text.length ?? 0),
			};
			const isBulk = rest.maxChars >= BULK_CHARS && rest.last - rest.first >= 2 * MIN_SLICE;
			const isShared = !isUnsafe && (isBulk || quickCalls >= QUICK_CALLS);
			if (!isShared) stop();
			const found = isShared
				? await readInAdvance(rest, isBulk ? rest.last : totalPages, signal)
				: await options.read(rest, signal);
			const pages = [...known, ...found];
			served = pages.at(-1);
			servedAt = now();
			return pages;
		},
	};
}

/** Slices one after the other without a gap, all of them under way or done. */
interface Run {
	slices: Slice[];
	/** The first page after the last slice. */
	next: number;
	/** The last page that may be read. */
	limit: number;
	/** Pages of a slice. */
	size: number;
	stop: AbortController;
}

interface Slice {
	first: number;
	last: number;
	pages: Promise<PdfPage[]>;
}

function startRun(first: number, limit: number, width: number): Run {
	// Two slices for each worker at least, or some would have nothing to do at the end of a short run.
	const share = Math.ceil((limit - first + 1) / (2 * width));
	const size = Math.min(MAX_SLICE, Math.max(MIN_SLICE, share));
	return { slices: [], next: first, limit, size, stop: new AbortController() };
}

function covers({ slices, next, limit }: Run, page: number): boolean {
	const first = slices[0]?.first ?? next;
	return page >= first && page <= next && page <= limit;
}

/** Drops slices before a page, starts as many new ones as can be under way, and returns the one with the page. */
function advance(run: Run, page: number, { width, read }: PageReaderOptions): Slice | undefined {
	while (run.slices[0] && run.slices[0].last < page) run.slices.shift();
	// One more than can be worked on: the next one waits for a worker, not a worker for it.
	while (run.next <= run.limit && run.slices.length <= width) {
		const [first, last] = [run.next, Math.min(run.next + run.size - 1, run.limit)];
		const pages = read({ first, last, maxChars: SLICE_CHARS }, run.stop.signal);
		pages.catch(() => {}); // looked at when its turn comes, if that comes
		run.slices.push({ first, last, pages });
		run.next = last + 1;
	}
	return run.slices[0];
}
