import { Worker } from "node:worker_threads";
import { workerEntry } from "../../core/worker-entry.ts";
import { PagingError } from "../errors.ts";
import type {
	PageRange,
	ReadReply,
	WorkerReply,
	WorkerRequest,
	WorkerStart,
	WorkerState,
} from "./worker-messages.ts";

/** A document as the main thread holds it: its bytes are sent to whichever worker needs them. */
export interface Source {
	/** The same in every call, and no other document's. */
	readonly id: number;
	readonly bytes: Uint8Array;
}

/** Something to be read, and who waits for it. */
export interface Call {
	readonly id: number;
	readonly source: Source;
	readonly range: PageRange;
	/** Whether nobody waits any more. */
	isSettled: boolean;
	resolve(reply: ReadReply): void;
	reject(error: Error): void;
}

export interface LaneLimits {
	/** Longest time for a call, counted from when the worker begins with it. */
	deadlineMs: number;
	maxMemoryMb: number;
	/** How long a worker without work lives. */
	idleMs: number;
}

export interface LaneEvents {
	onFree(): void;
	/** `call` is what the lane was busy with; it is not settled. Comes once, and nothing after it. */
	onDeath(lane: Lane, call: Call | undefined, error: Error): void;
}

/** A worker that has not loaded pdfium by then never will. */
const START_LIMIT_MS = 30_000;
/** Documents a worker holds at a time; one that has to go is sent again when it is asked for. */
const MAX_DOCUMENTS = 8;
/** Documents are sent in parts of this size: one is written here while another is taken over there. */
const PART_BYTES = 1024 * 1024;
const MAX_PARTS = 4;

/** One worker from its start to its end, the documents it holds, and the call it is busy with. */
export class Lane {
	/** Calls answered. */
	served = 0;
	/** What the worker last said about itself. */
	state: WorkerState | undefined;
	readonly #limits: LaneLimits;
	readonly #events: LaneEvents;
	readonly #worker: Worker;
	/**
	 * Buffers that are not on their way. They go to the worker and come back: fresh memory for every document costs
	 * more time than reading a page, and copying to shared memory takes twice as long.
	 */
	readonly #buffers: ArrayBuffer[] = [];
	#bufferCount = 0;
	readonly #cancelled = new Int32Array(new SharedArrayBuffer(4));
	/** Sizes of the documents the worker holds; the one used last comes last. */
	readonly #documents = new Map<number, number>();
	/** Ends the worker: at first when it does not start, then when a call overruns or when none comes. */
	#timer: NodeJS.Timeout;
	#call: Call | undefined;
	/** Bytes of the call's document that were sent. */
	#sent = 0;
	/** Whether the call's document has to go when the call is over. */
	#isLast = false;
	#isReady = false;
	#isDead = false;

	constructor(limits: LaneLimits, events: LaneEvents) {
		this.#limits = limits;
		this.#events = events;
		this.#worker = new Worker(workerEntry("./pdf-worker", import.meta.url), {
			workerData: {
				maxMemoryBytes: limits.maxMemoryMb * 1024 * 1024,
				cancelled: this.#cancelled,
			} satisfies WorkerStart,
			resourceLimits: { maxOldGenerationSizeMb: limits.maxMemoryMb },
			// Documents are untrusted data: what reads them gets no environment, and its messages (pdfium
			// prints when it gives up) do not end up on the terminal or in a protocol on standard output.
			env: {},
			execArgv: [],
			stdout: true,
			stderr: true,
		});
		this.#worker.unref();
		this.#worker.on("message", (reply: WorkerReply) => this.#onReply(reply));
		this.#worker.on("error", (error) => void this.end(this.#faultOf(error)));
		this.#worker.on("exit", (code) => void this.end(this.#faultOf(`exit status ${code}`)));
		this.#timer = this.#endAfter(START_LIMIT_MS, () => this.#faultOf("no answer"));
	}

	get isFree(): boolean {
		return !this.#call && !this.#isDead;
	}

	holds({ id }: Source): boolean {
		return this.#documents.has(id);
	}

	/** Begins with a call; only a free lane can. */
	take(call: Call): void {
		this.#call = call;
		// Only a worker at work keeps the process alive.
		this.#worker.ref();
		if (this.#isReady) this.#begin(call);
	}

	/** Lets a call that nobody waits for end early. */
	cancel(call: Call): void {
		if (this.#call !== call) return;
		Atomics.store(this.#cancelled, 0, call.id);
		this.#worker.unref();
		this.#timer.unref();
	}

	/** Frees what the worker holds of a document. */
	forget(id: number): void {
		if (this.#call?.source.id === id) this.#isLast = true;
		else if (this.#documents.delete(id)) this.#post({ kind: "forget", document: id });
	}

	async end(error: Error): Promise<void> {
		if (this.#isDead) return;
		this.#isDead = true;
		clearTimeout(this.#timer);
		this.#events.onDeath(this, this.#call, error);
		await this.#worker.terminate();
	}

	#begin(call: Call): void {
		clearTimeout(this.#timer);
		if (call.isSettled) {
			this.#rest();
			return;
		}
		this.#timer = this.#endAfter(this.#limits.deadlineMs, () => timeoutError(this.#limits));
		const { id, bytes } = call.source;
		this.#sent = this.#documents.has(id) ? bytes.length : 0;
		this.#documents.delete(id);
		this.#makeRoom(bytes.length);
		this.#documents.set(id, bytes.length);
		this.#send(call);
	}

	/** Closes what was not used for longest. Documents take at most half of the memory, pdfium's work on them the rest. */
	#makeRoom(size: number): void {
		const limit = (this.#limits.maxMemoryMb * 1024 * 1024) / 2;
		let total = size;
		for (const other of this.#documents.values()) total += other;
		for (const [id, other] of this.#documents) {
			if (this.#documents.size < MAX_DOCUMENTS && total <= limit) return;
			this.forget(id);
			total -= other;
		}
	}

	/** Sends as much of the document as there are buffers for; after the last part goes the call itself. */
	#send(call: Call): void {
		const { id: document, bytes } = call.source;
		const message = { call: call.id, document };
		const total = bytes.length;
		while (this.#sent < total) {
			const buffer = this.#takeBuffer();
			if (!buffer) return;
			const part = bytes.subarray(this.#sent, this.#sent + PART_BYTES);
			new Uint8Array(buffer).set(part);
			const place = { offset: this.#sent, length: part.length, total };
			this.#sent += part.length;
			this.#post({ kind: "bytes", ...message, buffer, ...place }, [buffer]);
		}
		this.#post({ kind: "read", ...message, ...call.range });
	}

	#takeBuffer(): ArrayBuffer | undefined {
		const buffer = this.#buffers.pop();
		if (buffer || this.#bufferCount === MAX_PARTS) return buffer;
		this.#bufferCount++;
		return new ArrayBuffer(PART_BYTES);
	}

	#onReply(reply: WorkerReply): void {
		if (this.#isDead) return;
		if (reply.kind === "ready") {
			this.#isReady = true;
			if (this.#call) this.#begin(this.#call);
			return;
		}
		if (reply.kind === "stored") this.#buffers.push(reply.buffer);
		const call = this.#call;
		if (!call || reply.call !== call.id) return;
		if (reply.kind === "stored") {
			if (this.#sent === call.source.bytes.length) return;
			if (call.isSettled) this.#rest({ isLast: true });
			else this.#send(call);
			return;
		}
		if (reply.kind === "broken") {
			const { reason, detail } = reply;
			void this.end(reason === "memory" ? memoryError(this.#limits) : crashError(detail));
			return;
		}
		if (reply.kind === "read") {
			this.state = reply.worker;
			call.resolve(reply);
		} else {
			this.#documents.delete(call.source.id);
			call.reject(reply.reason === "password" ? encryptedError() : damagedError());
		}
		this.#rest();
	}

	#rest({ isLast = this.#isLast } = {}): void {
		clearTimeout(this.#timer);
		this.served++;
		const { id } = (this.#call as Call).source;
		this.#call = undefined;
		this.#isLast = false;
		if (isLast) this.forget(id);
		this.#worker.unref();
		this.#timer = this.#endAfter(this.#limits.idleMs, () => new Error("idle")).unref();
		this.#events.onFree();
	}

	#endAfter(ms: number, error: () => Error): NodeJS.Timeout {
		return setTimeout(() => void this.end(error()), ms);
	}

	#faultOf(cause: unknown): Error {
		if (!this.#isReady) return new Error("the PDF reader does not start", { cause });
		const isMemory = (cause as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY";
		return isMemory ? memoryError(this.#limits) : crashError(cause);
	}

	#post(request: WorkerRequest, transfer: ArrayBuffer[] = []): void {
		this.#worker.postMessage(request, transfer);
	}
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

function timeoutError({ deadlineMs }: LaneLimits): PagingError {
	return new PagingError(
		"timeout",
		`reading these pages of the PDF took longer than ${deadlineMs / 1000} s: try other pages`,
	);
}

function memoryError({ maxMemoryMb }: LaneLimits): PagingError {
	return new PagingError(
		"too_large",
		`reading these pages of the PDF takes more than ${maxMemoryMb} MB of memory: try other pages`,
	);
}

function crashError(cause: unknown): PagingError {
	const message =
		"the PDF reader gave up on these pages, which are probably damaged: try other pages";
	return new PagingError("not_a_pdf", message, { cause });
}
