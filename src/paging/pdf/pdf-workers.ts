import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import {
	type RunningJob,
	type WorkerError,
	WorkerSupervisor,
} from "../../core/worker-supervisor.ts";
import { PagingError } from "../errors.ts";
import type { BytesNote, PageRange, ReadJob, ReadReply, WorkerState } from "./pdf-worker.ts";
import type { OpenFailure } from "./pdfium.ts";

/** A document as the main thread holds it: its bytes are sent to the worker that needs them. */
export interface Source {
	/** The same in every call, and no other document's. */
	readonly id: number;
	readonly bytes: Uint8Array;
}

/** Threads that read PDFs. */
export interface PdfWorkers {
	/** Opens or reads. Calls are taken in order, each by one worker. */
	run(source: Source, range: PageRange, signal?: AbortSignal): Promise<ReadReply>;
	/** Frees what the workers hold of a document. */
	forget(source: Source): void;
	/** How many workers were started so far, and the last state of each living one. */
	state(): { started: number; workers: WorkerState[] };
	/** Ends all workers; unfinished calls fail as aborted. */
	close(): Promise<void>;
}

export interface PdfWorkersOptions {
	/** Most workers at a time. */
	size: number;
	/** Longest time for a call, counted from when the worker begins with it. */
	deadlineMs: number;
	maxMemoryMb: number;
	/** How long a worker without work lives. */
	idleMs: number;
}

/** Documents are sent in parts of this size: one is written here while another is taken over there. */
const PART_BYTES = 1024 * 1024;
const MAX_PARTS = 4;

export function createPdfWorkers(options: PdfWorkersOptions): PdfWorkers {
	const { size, deadlineMs, maxMemoryMb, idleMs } = options;
	const entry = workerEntry("./pdf-worker", import.meta.url);
	const supervisor = new WorkerSupervisor<ReadJob, ReadReply | OpenFailure, BytesNote>({
		start: () =>
			thread(entry, {
				workerData: { maxMemoryBytes: maxMemoryMb * 1024 * 1024 },
				resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
				// Documents are untrusted data: what reads them gets no environment.
				env: {},
			}),
		...{ size, deadlineMs, idleMs, onAbort: "signal", endOnFailure: true },
	});
	/** By thread. */
	const states = new Map<number, WorkerState>();
	/**
	 * Buffers that are not on their way. They go to the worker and come back: fresh memory for every document costs
	 * more time than reading a page, and copying to shared memory takes twice as long.
	 */
	const buffers: ArrayBuffer[] = [];

	function read({ id, bytes }: Source, range: PageRange, signal: AbortSignal | undefined) {
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
		// A quarter of the deadline: only a single page that hangs overruns, never a long list of pages.
		const job = { ...range, document: id, total: bytes.length, budgetMs: deadlineMs / 4 };
		const prefer = (worker: number) => states.get(worker)?.documents.includes(id) ?? false;
		return supervisor.run(job, { signal, prefer, onNote });
	}

	return {
		async run(source, range, signal) {
			const reply = await read(source, range, signal)
				.catch((error: WorkerError) => {
					// The fault may lie with what the worker did before: a fresh one gets a chance.
					const isBroken = ["failed", "crash", "memory"].includes(error.fault);
					if (isBroken && error.served > 0) return read(source, range, signal);
					throw error;
				})
				.catch((error: WorkerError) => {
					throw readError(error, options);
				});
			if (typeof reply === "string") throw reply === "password" ? encryptedError() : damagedError();
			states.set(reply.worker.id, reply.worker);
			return reply;
		},
		forget: ({ id }) => supervisor.tell(id),
		state: () => {
			const alive = supervisor.workers;
			for (const id of states.keys()) if (!alive.includes(id)) states.delete(id);
			return { started: supervisor.started, workers: [...states.values()] };
		},
		close: () => supervisor.close(),
	};
}

function readError(error: WorkerError, { deadlineMs, maxMemoryMb }: PdfWorkersOptions): Error {
	const { fault, code } = error;
	if (fault === "aborted") return new PagingError("aborted", "reading the PDF was aborted");
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

function encryptedError(): PagingError {
	return new PagingError(
		"encrypted_pdf",
		"this PDF is protected with a password: save a copy without one and read that",
	);
}

function damagedError(): PagingError {
	return new PagingError(
		"not_a_pdf",
		"the bytes are not a PDF, or are damaged beyond reading: check that the file is complete",
	);
}
