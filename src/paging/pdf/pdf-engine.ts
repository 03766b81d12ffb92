import { availableParallelism } from "node:os";
import { PagingError } from "../errors.ts";
import { createPageReader, type ReadSpan } from "./page-reader.ts";
import type { PdfPage, ReadReply, WorkerState } from "./pdf-worker.ts";
import { createPdfWorkers, type PdfWorkers, type Source } from "./pdf-workers.ts";

export type { PageWarning } from "./page-text.ts";
export type { PdfPage } from "./pdf-worker.ts";

export interface PdfEngineOptions {
	/** Longest time a worker may spend on one piece of work: opening, or some pages. Default: 10 s. */
	deadlineMs?: number;
	/** Memory of each worker. Default: 512 MB, enough for several documents of 50 MB. */
	maxMemoryMb?: number;
	/** How long a worker without work lives. Default: 60 s. */
	idleMs?: number;
	/** Most workers at a time. Default: 3, or the number of processors if that is less. */
	workers?: number;
}

/** Reads PDFs off the main thread. Nothing starts before the first document is opened. */
export interface PdfEngine {
	/**
	 * Opens a document: reads its index, none of its pages. The document keeps the bytes, which must not change.
	 *
	 * @throws PagingError `not_a_pdf`, `encrypted_pdf`, `too_large` (memory), `timeout` or `aborted`
	 */
	open(bytes: Buffer, signal?: AbortSignal): Promise<PdfDocument>;
	/** What has happened so far: for reports and tests. */
	stats(): PdfEngineStats;
	/** Ends the workers; calls that are under way fail as aborted. May be called twice. */
	close(): Promise<void>;
}

/**
 * An open document. It keeps the bytes, so that it stays usable whatever happens to the workers: one that ends, by
 * itself or for its faults, is replaced with the next call.
 */
export interface PdfDocument {
	readonly totalPages: number;
	/** The title the document gives itself, on one line. */
	readonly title?: string;
	/**
	 * The pages from `first` (1 is the first of the document), at most `count` of them. There are fewer when the
	 * document ends, and when the text reaches `maxChars`: the page with which it does is the last. Pages are whole
	 * whatever `maxChars` says. Several workers share the work from 200,000 characters on, and when one call follows
	 * the other through the document; else no page is looked at that is not in the answer.
	 *
	 * @throws PagingError `invalid_pages`, `not_a_pdf` (damaged), `too_large` (memory), `timeout` or `aborted`
	 */
	pages(
		first: number,
		count: number,
		limit: { maxChars: number },
		signal?: AbortSignal,
	): Promise<PdfPage[]>;
	/** Frees the document. May be called twice. */
	close(): void;
}

export interface PdfEngineStats {
	workers: number;
	/** Workers started so far. */
	started: number;
	/** Pages looked at by the workers now alive. */
	pagesLoaded: number;
	/** Documents open in the workers now alive; one counts once for each. */
	openDocuments: number;
	/** WebAssembly memory of the workers now alive. */
	memoryBytes: number;
}

/** Creates an engine. */
export function createPdfEngine(options: PdfEngineOptions = {}): PdfEngine {
	const size = options.workers ?? Math.min(3, availableParallelism());
	const workers = createPdfWorkers({
		size,
		deadlineMs: options.deadlineMs ?? 10_000,
		maxMemoryMb: options.maxMemoryMb ?? 512,
		idleMs: options.idleMs ?? 60_000,
	});
	let documents = 0;
	return {
		open: async (bytes, signal) => {
			checkHeader(bytes);
			const source = { id: ++documents, bytes };
			try {
				const opened = await workers.run(source, { first: 1, count: 0, maxChars: 0 }, signal);
				return createDocument(workers, size, source, opened);
			} catch (error) {
				workers.forget(source);
				throw error;
			}
		},
		stats: () => {
			const { started, workers: states } = workers.state();
			const sum = (of: (state: WorkerState) => number) =>
				states.reduce((total, state) => total + of(state), 0);
			return {
				workers: states.length,
				started,
				pagesLoaded: sum((state) => state.pagesLoaded),
				openDocuments: sum((state) => state.documents.length),
				memoryBytes: sum((state) => state.memoryBytes),
			};
		},
		close: workers.close,
	};
}

function createDocument(
	workers: PdfWorkers,
	width: number,
	source: Source,
	{ totalPages, title }: ReadReply,
): PdfDocument {
	let isClosed = false;

	/** In as many calls as it takes: a worker that has spent its time returns what it has. */
	const readSpan: ReadSpan = async ({ first, last, maxChars }, signal) => {
		const pages: PdfPage[] = [];
		let left = maxChars;
		for (let next = first; next <= last && left > 0; next = first + pages.length) {
			if (isClosed) throw closedError();
			const range = { first: next, count: last - next + 1, maxChars: left };
			const reply = await workers.run(source, range, signal);
			for (const page of reply.pages) left -= page.text.length;
			pages.push(...reply.pages);
		}
		return pages;
	};
	const reader = createPageReader({ totalPages, width, read: readSpan });

	return {
		totalPages,
		...(title && { title }),
		pages: async (first, count, { maxChars }, signal) => {
			if (isClosed) throw closedError();
			if (signal?.aborted) throw abortedError();
			checkRange(first, count, totalPages);
			const last = Math.min(first + count - 1, totalPages);
			return reader.read({ first, last, maxChars }, signal);
		},
		close: () => {
			if (isClosed) return;
			isClosed = true;
			reader.stop();
			workers.forget(source);
		},
	};
}

/** Readers look for the header in the first 1,024 bytes: junk before it is common and harmless. */
function checkHeader(bytes: Buffer): void {
	if (bytes.subarray(0, 1024 + 5).includes("%PDF-")) return;
	throw new PagingError(
		"not_a_pdf",
		bytes.length === 0
			? "there are no bytes to read: a PDF was expected"
			: "the bytes are not a PDF: it would say %PDF- at its beginning",
	);
}

function checkRange(first: number, count: number, totalPages: number): void {
	const isInside = Number.isSafeInteger(first) && first >= 1 && first <= totalPages;
	if (isInside && Number.isSafeInteger(count) && count >= 1) return;
	throw new PagingError(
		"invalid_pages",
		`there are no ${count} pages from page ${first}: the document has ${totalPages}`,
	);
}

function closedError(): PagingError {
	return new PagingError("aborted", "this PDF was closed: open it again to read on");
}

function abortedError(): PagingError {
	return new PagingError("aborted", "reading the PDF was aborted");
}
