import { availableParallelism } from "node:os";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import {
	type RunningJob,
	type WorkerError,
	WorkerSupervisor,
} from "../../core/worker-supervisor.ts";
import { PagingError } from "../errors.ts";
import { createPageReader, type ReadSpan } from "./page-reader.ts";
import type {
	BytesNote,
	PageSpan,
	PdfPage,
	ReadJob,
	ReadReply,
	WorkerState,
} from "./pdf-worker.ts";
import type { OpenFailure } from "./pdfium.ts";

export type { PdfPage } from "./pdf-worker.ts";

export interface PdfEngineOptions {
	/** For one job of a worker: opening, or some pages. Default: 10 s. */
	deadlineMs?: number;
	/** Per worker. Default: 512 MB, enough for several documents of 50 MB. */
	maxMemoryMb?: number;
	/** Idle workers end after this. Default: 60 s. */
	idleMs?: number;
	/** Default: 3, or the number of processors if that is less. */
	workers?: number;
}

export type PdfEngine = ReturnType<typeof createPdfEngine>;

export type PdfDocument = ReturnType<typeof createDocument>;

/** Reads PDFs in workers, which start with the first document. */
export function createPdfEngine(options: PdfEngineOptions = {}) {
	const { deadlineMs = 10_000, maxMemoryMb = 512, idleMs = 60_000 } = options;
	const { workers: width = Math.min(3, availableParallelism()) } = options;
	const entry = workerEntry("./pdf-worker", import.meta.url);
	const supervisor = new WorkerSupervisor<ReadJob, ReadReply | OpenFailure, BytesNote>({
		start: () =>
			thread(entry, {
				workerData: { maxMemoryBytes: maxMemoryMb * 1024 * 1024 },
				resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
				// Documents are untrusted: their reader gets no environment.
				env: {},
			}),
		...{ size: width, deadlineMs, idleMs, onAbort: "signal", endOnFailure: true },
	});
	const states = new Map<number, WorkerState>();
	// Idle buffers. They travel to the worker and back: fresh memory per document costs more time
	// than reading a page, and copying to shared memory takes twice as long.
	const buffers: ArrayBuffer[] = [];

	function dropEnded(): void {
		const alive = supervisor.workers;
		for (const id of states.keys()) if (!alive.includes(id)) states.delete(id);
	}

	function read({ id, bytes }: Source, span: PageSpan, signal: AbortSignal | undefined) {
		let sent = 0;
		const onNote = (returned: BytesNote, job: RunningJob) => {
			if (returned) buffers.push(returned);
			for (let parts = returned ? 1 : MAX_PARTS; parts > 0 && sent < bytes.length; parts--) {
				const buffer = buffers.pop() ?? new ArrayBuffer(PART_BYTES);
				const part = bytes.subarray(sent, sent + PART_BYTES);
				new Uint8Array(buffer).set(part);
				sent += part.length;
				job.send({ buffer, length: part.length }, [buffer]);
			}
		};
		// A quarter of the deadline: only a page that hangs overruns, never a long list of pages.
		const job = { ...span, document: id, total: bytes.length, budgetMs: deadlineMs / 4 };
		const prefer = (worker: number) => states.get(worker)?.documents.includes(id) ?? false;
		return supervisor.run(job, { signal, prefer, onNote });
	}

	async function run(source: Source, span: PageSpan, signal?: AbortSignal): Promise<ReadReply> {
		const reply = await read(source, span, signal)
			.catch((error: WorkerError) => {
				// The worker's earlier work may be at fault: retry in a fresh one.
				const isBroken = ["failed", "crash", "memory"].includes(error.fault);
				if (isBroken && error.served > 0) return read(source, span, signal);
				throw error;
			})
			.catch((error: WorkerError) => {
				throw readError(error, deadlineMs, maxMemoryMb);
			});
		if (typeof reply === "string") {
			const [code, message] = OPEN_ERRORS[reply];
			throw new PagingError(code, message);
		}
		states.set(reply.worker.id, reply.worker);
		dropEnded();
		return reply;
	}

	let documents = 0;
	return {
		/**
		 * Keeps the bytes, which must not change.
		 * @throws PagingError `not_a_pdf`, `encrypted_pdf`, `too_large` (memory), `timeout` or `aborted`
		 */
		async open(bytes: Buffer, signal?: AbortSignal): Promise<PdfDocument> {
			checkHeader(bytes);
			const source = { id: ++documents, bytes };
			const forget = () => supervisor.tell(source.id);
			try {
				const opened = await run(source, { first: 1, last: 0, maxChars: 0 }, signal);
				return createDocument(opened, width, (...range) => run(source, ...range), forget);
			} catch (error) {
				forget();
				throw error;
			}
		},
		stats() {
			dropEnded();
			const living = [...states.values()];
			const sum = (of: (state: WorkerState) => number) =>
				living.reduce((total, state) => total + of(state), 0);
			return {
				workers: living.length,
				started: supervisor.started,
				pagesLoaded: sum((state) => state.pagesLoaded),
				/** In the live workers, counted once per worker. */
				openDocuments: sum((state) => state.documents.length),
				memoryBytes: sum((state) => state.memoryBytes),
			};
		},
		/** Calls in flight fail as aborted. Idempotent. */
		close: () => supervisor.close(),
	};
}

/** The main thread keeps the bytes and sends them to the worker that needs them. */
interface Source {
	readonly id: number;
	readonly bytes: Uint8Array;
}

/** One part is written here while the worker copies another. */
const PART_BYTES = 1024 * 1024;
const MAX_PARTS = 4;

/** Keeps the bytes, so it survives its workers: the next call replaces one that ended. */
function createDocument(
	{ totalPages, title }: ReadReply,
	width: number,
	run: (span: PageSpan, signal?: AbortSignal) => Promise<ReadReply>,
	forget: () => void,
) {
	let isClosed = false;

	/** A worker that has used up its time returns a part, so this may take several calls. */
	const readSpan: ReadSpan = async ({ first, last, maxChars }, signal) => {
		const pages: PdfPage[] = [];
		let left = maxChars;
		for (let next = first; next <= last && left > 0; next = first + pages.length) {
			if (isClosed) throw closedError();
			const reply = await run({ first: next, last, maxChars: left }, signal);
			for (const page of reply.pages) left -= page.text.length;
			pages.push(...reply.pages);
		}
		return pages;
	};
	const reader = createPageReader({ totalPages, width, read: readSpan });

	return {
		totalPages,
		...(title && { title }),
		/**
		 * Whole pages from `first` (1-based), up to `count` or the page that reaches `maxChars`. Workers
		 * share calls of 200,000 characters or more and read ahead for sequential calls; otherwise only
		 * returned pages are read.
		 * @throws PagingError `invalid_pages`, `not_a_pdf`, `too_large` (memory), `timeout` or `aborted`
		 */
		async pages(
			first: number,
			count: number,
			{ maxChars }: { maxChars: number },
			signal?: AbortSignal,
		): Promise<PdfPage[]> {
			if (isClosed) throw closedError();
			if (signal?.aborted) throw new PagingError("aborted", ABORTED);
			checkRange(first, count, totalPages);
			const last = Math.min(first + count - 1, totalPages);
			return reader.read({ first, last, maxChars }, signal);
		},
		/** Idempotent. */
		close(): void {
			if (isClosed) return;
			isClosed = true;
			reader.stop();
			forget();
		},
	};
}

/** Junk before the header is common and harmless. */
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

const ABORTED = "reading the PDF was aborted";

const OPEN_ERRORS = {
	password: [
		"encrypted_pdf",
		"this PDF is protected with a password: save a copy without one and read that",
	],
	format: [
		"not_a_pdf",
		"the bytes are not a PDF, or are damaged beyond reading: check that the file is complete",
	],
} as const;

function readError(error: WorkerError, deadlineMs: number, maxMemoryMb: number): Error {
	const { fault, code } = error;
	if (fault === "aborted") return new PagingError("aborted", ABORTED);
	if (fault === "closed") return new PagingError("aborted", "the PDF reader was closed");
	if (fault === "start") return new Error("the PDF reader does not start", { cause: error });
	if (fault === "deadline") {
		const what = `reading these pages of the PDF took longer than ${deadlineMs / 1000} s`;
		return new PagingError("timeout", `${what}: try other pages`);
	}
	if (fault === "memory" || code === "memory") {
		const what = `reading these pages of the PDF takes more than ${maxMemoryMb} MB of memory`;
		return new PagingError("too_large", `${what}: try other pages`);
	}
	const what = "the PDF reader gave up on these pages, which are probably damaged: try other pages";
	return new PagingError("not_a_pdf", what, { cause: error });
}
