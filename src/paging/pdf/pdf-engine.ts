import { availableParallelism } from "node:os";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import {
	type RunningJob,
	type WorkerError,
	WorkerSupervisor,
} from "../../core/worker-supervisor.ts";
import { PagingError } from "../errors.ts";
import type {
	PageSpan,
	PdfPage,
	ReadJob,
	ReadReply,
	ReturnedBuffer,
	WorkerState,
} from "./pdf-worker.ts";
import type { OpenFailure, OutlineEntry } from "./pdfium.ts";
import { ReadAhead, type ReadSpan } from "./read-ahead.ts";

export type { PdfPage } from "./pdf-worker.ts";

export interface PdfEngineOptions {
	/** Time limit for one job of a worker: opening a document or reading pages. Default: 10 s. */
	readonly deadlineMs?: number;
	/** Maximum memory per worker, in MiB. Default: 512, enough for several documents of 50 MB. */
	readonly maxMemoryMb?: number;
	/** Idle workers end after this time. Default: 60 s. */
	readonly idleMs?: number;
	/** Maximum number of workers. Default: 3, or the number of processors if that is less. */
	readonly workers?: number;
}

/** Reads PDFs in workers, which start with the first document. */
export class PdfEngine {
	readonly #options: Required<PdfEngineOptions>;
	readonly #supervisor: WorkerSupervisor<ReadJob, ReadReply | OpenFailure, ReturnedBuffer>;
	readonly #states = new Map<number, WorkerState>();
	// Idle buffers. They are transferred to a worker and back: allocating memory per document takes longer than
	// reading a page, and copying to shared memory takes twice as long.
	readonly #buffers: ArrayBuffer[] = [];
	#lastId = 0;

	constructor(options: PdfEngineOptions = {}) {
		const defaults = { deadlineMs: 10_000, maxMemoryMb: 512, idleMs: 60_000 };
		this.#options = { ...defaults, workers: Math.min(3, availableParallelism()), ...options };
		const { deadlineMs, maxMemoryMb, idleMs, workers } = this.#options;
		const entry = workerEntry("./pdf-worker", import.meta.url);
		this.#supervisor = new WorkerSupervisor({
			start: () =>
				thread(entry, {
					workerData: { maxMemoryBytes: maxMemoryMb * 1024 * 1024 },
					resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
					// Documents are untrusted: their worker gets no environment.
					env: {},
				}),
			...{ size: workers, deadlineMs, idleMs, onAbort: "signal", endOnFailure: true },
		});
	}

	/**
	 * Keeps the bytes, which must not change.
	 * @throws PagingError `not_a_pdf`, `encrypted_pdf`, `too_large` (memory), `timeout` or `aborted`
	 */
	async open(bytes: Buffer, signal?: AbortSignal, password?: string): Promise<PdfDocument> {
		checkHeader(bytes);
		const source = { id: ++this.#lastId, bytes, password };
		const evict = () => this.#supervisor.broadcast(source.id);
		try {
			const opened = await this.#read(source, { first: 1, last: 0, maxChars: 0 }, signal);
			const read: DocumentEngine["read"] = (...span) => this.#read(source, ...span);
			return new PdfDocument(opened, { workers: this.#options.workers, read, evict });
		} catch (error) {
			evict();
			throw error;
		}
	}

	stats() {
		this.#dropEndedWorkers();
		const live = [...this.#states.values()];
		const sum = (count: (state: WorkerState) => number) =>
			live.reduce((total, state) => total + count(state), 0);
		return {
			workers: live.length,
			started: this.#supervisor.started,
			pagesLoaded: sum((state) => state.pagesLoaded),
			/** Documents open in the live workers; each counts once per worker. */
			openDocuments: sum((state) => state.documents.length),
			memoryBytes: sum((state) => state.memoryBytes),
		};
	}

	/** Calls in flight fail as aborted. Idempotent. */
	close(): Promise<void> {
		return this.#supervisor.close();
	}

	#dropEndedWorkers(): void {
		const alive = this.#supervisor.workers;
		for (const id of this.#states.keys()) if (!alive.includes(id)) this.#states.delete(id);
	}

	async #read(source: Source, span: PageSpan, signal?: AbortSignal): Promise<ReadReply> {
		const reply = await this.#runJob(source, span, signal)
			.catch((error: WorkerError) => {
				// An earlier job may have broken this worker, so the job is retried in a fresh one.
				const isBroken = ["failed", "crash", "memory"].includes(error.fault);
				if (isBroken && error.served > 0) return this.#runJob(source, span, signal);
				throw error;
			})
			.catch((error: WorkerError) => {
				throw readError(error, this.#options);
			});
		if (typeof reply === "string") {
			const [code, message] = OPEN_ERRORS[reply];
			throw new PagingError(code, message);
		}
		this.#states.set(reply.worker.id, reply.worker);
		this.#dropEndedWorkers();
		return reply;
	}

	#runJob({ id, bytes, password }: Source, span: PageSpan, signal: AbortSignal | undefined) {
		let sent = 0;
		const onNote = (returned: ReturnedBuffer, job: RunningJob) => {
			if (returned) this.#buffers.push(returned);
			for (let parts = returned ? 1 : MAX_PARTS; parts > 0 && sent < bytes.length; parts--) {
				const buffer = this.#buffers.pop() ?? new ArrayBuffer(PART_BYTES);
				const part = bytes.subarray(sent, sent + PART_BYTES);
				new Uint8Array(buffer).set(part);
				sent += part.length;
				job.send({ buffer, length: part.length }, [buffer]);
			}
		};
		// A quarter of the deadline, so that only a single slow page can miss it, never a long list of pages.
		const budgetMs = this.#options.deadlineMs / 4;
		const job = { ...span, document: id, total: bytes.length, budgetMs, password };
		const prefer = (worker: number) => !!this.#states.get(worker)?.documents.includes(id);
		return this.#supervisor.run(job, { signal, prefer, onNote });
	}
}

/** The main thread keeps the bytes and sends them to the worker that needs them. */
interface Source {
	readonly id: number;
	readonly bytes: Uint8Array;
	readonly password: string | undefined;
}

/** Documents are sent in parts, so that this thread fills one part while the worker copies another. */
const PART_BYTES = 1024 * 1024;
const MAX_PARTS = 4;

interface DocumentEngine {
	readonly workers: number;
	/** May return only a part of the span, since a worker stops when its time is used up. */
	read(span: PageSpan, signal?: AbortSignal): Promise<ReadReply>;
	evict(): void;
}

/** An open document. It keeps the bytes, so it survives its workers: a call replaces a worker that ended. */
export class PdfDocument {
	readonly totalPages: number;
	readonly title?: string;
	/** Headings with their pages, for a document that has an outline. */
	readonly outline: readonly OutlineEntry[];
	readonly #engine: DocumentEngine;
	readonly #readAhead: ReadAhead;
	#isClosed = false;

	constructor({ totalPages, title, outline }: ReadReply, engine: DocumentEngine) {
		this.totalPages = totalPages;
		this.outline = outline;
		if (title) this.title = title;
		this.#engine = engine;
		const read: ReadSpan = (span, signal) => this.#readSpan(span, signal);
		this.#readAhead = new ReadAhead({ totalPages, workers: engine.workers, read });
	}

	/**
	 * Returns whole pages from `first` (1-based), up to `count` or the page that reaches `maxChars`.
	 * Workers share a call for 200,000 characters or more, and read ahead during quick sequential calls.
	 * Otherwise only the returned pages are read.
	 * @throws PagingError `invalid_pages`, `not_a_pdf`, `too_large` (memory), `timeout` or `aborted`
	 */
	async pages(
		first: number,
		count: number,
		{ maxChars }: { maxChars: number },
		signal?: AbortSignal,
	): Promise<PdfPage[]> {
		if (this.#isClosed) throw closedError();
		if (signal?.aborted) throw new PagingError("aborted", ABORTED);
		checkRange(first, count, this.totalPages);
		const last = Math.min(first + count - 1, this.totalPages);
		return this.#readAhead.read({ first, last, maxChars }, signal);
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#readAhead.stop();
		this.#engine.evict();
	}

	async #readSpan({ first, last, maxChars }: PageSpan, signal?: AbortSignal): Promise<PdfPage[]> {
		const pages: PdfPage[] = [];
		let left = maxChars;
		for (let next = first; next <= last && left > 0; next = first + pages.length) {
			if (this.#isClosed) throw closedError();
			const reply = await this.#engine.read({ first: next, last, maxChars: left }, signal);
			for (const page of reply.pages) left -= page.text.length;
			pages.push(...reply.pages);
		}
		return pages;
	}
}

/** Junk before the header is common and harmless. */
function checkHeader(bytes: Buffer): void {
	if (bytes.subarray(0, 1024 + 5).includes("%PDF-")) return;
	throw new PagingError(
		"not_a_pdf",
		bytes.length === 0
			? "the file is empty: a PDF was expected"
			: "the bytes are not a PDF: a PDF begins with %PDF-",
	);
}

function checkRange(first: number, count: number, totalPages: number): void {
	const isInside = Number.isSafeInteger(first) && first >= 1 && first <= totalPages;
	if (isInside && Number.isSafeInteger(count) && count >= 1) return;
	const message = `there are no ${count} pages from page ${first}: the document has ${totalPages}`;
	throw new PagingError("invalid_pages", message);
}

function closedError(): PagingError {
	return new PagingError("aborted", "this PDF was closed: open it again to read on");
}

const ABORTED = "reading the PDF was aborted";

const OPEN_ERRORS = {
	password: [
		"encrypted_pdf",
		"this PDF is protected with a password, and none or a wrong one was given: pass it as password (strata read --password), or read a copy without one",
	],
	format: [
		"not_a_pdf",
		"the bytes are not a PDF, or too damaged to read: check that the file is complete",
	],
} as const;

function readError(error: WorkerError, options: Required<PdfEngineOptions>): Error {
	const { fault, code } = error;
	if (fault === "aborted") return new PagingError("aborted", ABORTED);
	if (fault === "closed") return new PagingError("aborted", "the PDF reader was closed");
	if (fault === "start") return new Error("the PDF reader does not start", { cause: error });
	if (fault === "deadline") {
		const what = `reading these pages of the PDF took longer than ${options.deadlineMs / 1000} s`;
		return new PagingError("timeout", `${what}: try other pages`);
	}
	if (fault === "memory" || code === "memory") {
		const what = `reading these pages of the PDF takes more than ${options.maxMemoryMb} MB of memory`;
		return new PagingError("too_large", `${what}: try other pages`);
	}
	const what = "the PDF reader failed on these pages, which are probably damaged: try other pages";
	return new PagingError("not_a_pdf", what, { cause: error });
}
