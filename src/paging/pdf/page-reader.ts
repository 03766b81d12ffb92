import type { PageSpan, PdfPage } from "./pdf-worker.ts";

export type ReadSpan = (span: PageSpan, signal?: AbortSignal) => Promise<PdfPage[]>;

export interface PageReaderOptions {
	totalPages: number;
	width: number;
	read: ReadSpan;
	/** Milliseconds; only differences count. Default: `performance.now`. */
	now?: () => number;
}

/** Pages per slice when several are in flight: some 20 and 5 ms. */
const MAX_SLICE = 16;
const MIN_SLICE = 4;
/** Ends a slice early, which bounds the read-ahead. */
const SLICE_CHARS = 200_000;
/** Smaller calls finish before a second worker has started. */
const BULK_CHARS = 200_000;
/** Three calls in a row within this time come from a program, not a model. */
const QUICK_MS = 100;
const QUICK_CALLS = 2;

/** Reads on demand until a caller goes through the document; then all workers read ahead. */
export function createPageReader(options: PageReaderOptions) {
	const { totalPages, now = () => performance.now() } = options;
	// A chunk often ends within its last page or before it, and the next one begins there.
	let served: PdfPage | undefined;
	let servedAt = Number.NEGATIVE_INFINITY;
	let quickCalls = 0;
	let run: Run | undefined;
	/** Every slice with a failing page fails, so such a document is read on demand. */
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
		async read(span: PageSpan, signal?: AbortSignal): Promise<PdfPage[]> {
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

interface Run {
	slices: Slice[];
	next: number;
	limit: number;
	size: number;
	stop: AbortController;
}

interface Slice {
	first: number;
	last: number;
	pages: Promise<PdfPage[]>;
}

function startRun(first: number, limit: number, width: number): Run {
	// At least two slices per worker, or some would idle at the end of a short run.
	const share = Math.ceil((limit - first + 1) / (2 * width));
	const size = Math.min(MAX_SLICE, Math.max(MIN_SLICE, share));
	return { slices: [], next: first, limit, size, stop: new AbortController() };
}

function covers({ slices, next, limit }: Run, page: number): boolean {
	const first = slices[0]?.first ?? next;
	return page >= first && page <= next && page <= limit;
}

function advance(run: Run, page: number, { width, read }: PageReaderOptions): Slice | undefined {
	while (run.slices[0] && run.slices[0].last < page) run.slices.shift();
	// One more than the workers: a slice waits for a worker, never a worker for a slice.
	while (run.next <= run.limit && run.slices.length <= width) {
		const [first, last] = [run.next, Math.min(run.next + run.size - 1, run.limit)];
		const pages = read({ first, last, maxChars: SLICE_CHARS }, run.stop.signal);
		pages.catch(() => {}); // handled when the slice is served, if ever
		run.slices.push({ first, last, pages });
		run.next = last + 1;
	}
	return run.slices[0];
}
