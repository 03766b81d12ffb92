import { Worker } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { type CallOptions, CodeIndexError } from "../code-index.ts";
import { fromColumns } from "./answer-columns.ts";
import type { IndexReply, IndexRequest, IndexWorkerStart, Method } from "./messages.ts";

/** Someone who waits for an answer. */
interface Waiting {
	readonly resolve: (value: unknown) => void;
	readonly reject: (error: CodeIndexError) => void;
	readonly onProgress: CallOptions["onProgress"];
}

/** How long a worker may take to end by itself. */
const CLOSE_MS = 3_000;

/**
 * The thread that an index lives in, seen from outside. It is started with the first call, and again with the first
 * call after it has died. It keeps the process alive only while there is an answer to wait for.
 */
export class IndexClient {
	readonly #start: IndexWorkerStart;
	readonly #waiting = new Map<number, Waiting>();
	#worker: Worker | undefined;
	#calls = 0;
	#isClosed = false;

	constructor(start: IndexWorkerStart) {
		this.#start = start;
	}

	/** Calls a method. Rejects with a `CodeIndexError`, at once with `aborted` when the signal says so. */
	call(method: Method, query: unknown, { signal, onProgress }: CallOptions = {}): Promise<unknown> {
		if (this.#isClosed) {
			return Promise.reject(new CodeIndexError("failed", "The code index has been closed."));
		}
		if (signal?.aborted) return Promise.reject(aborted());
		const call = ++this.#calls;
		return new Promise((resolve, reject) => {
			const onAbort = () => {
				this.#post({ kind: "abort", call });
				this.#settle(call)?.reject(aborted());
			};
			const done = () => signal?.removeEventListener("abort", onAbort);
			this.#waiting.set(call, {
				resolve: (value) => {
					done();
					resolve(value);
				},
				reject: (error) => {
					done();
					reject(error);
				},
				onProgress,
			});
			signal?.addEventListener("abort", onAbort);
			try {
				this.#worker ??= this.#startWorker();
				this.#worker.ref();
				this.#post({ kind: "call", call, method, query });
			} catch (error) {
				// A thread cannot be started, or the query holds what cannot be sent to one, such as a function.
				const message = `The question cannot be put to the code index: ${describeError(error)}`;
				this.#settle(call)?.reject(new CodeIndexError("bad-query", message, { cause: error }));
			}
		});
	}

	/** Ends the thread. Calls under way are rejected. */
	async close(): Promise<void> {
		this.#isClosed = true;
		const worker = this.#worker;
		this.#rejectAll(new CodeIndexError("aborted", "The code index was closed."));
		if (!worker) return;
		const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
		worker.postMessage({ kind: "close" } satisfies IndexRequest);
		const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
		worker.ref();
		await ended;
		clearTimeout(timer);
	}

	#startWorker(): Worker {
		const worker = new Worker(workerEntry("./index-worker", import.meta.url), {
			workerData: this.#start,
			execArgv: [],
			// What SQLite or Node print must not end up on the terminal, or in a protocol on standard output.
			stdout: true,
			stderr: true,
		});
		worker.unref();
		worker.on("message", (reply: IndexReply) => this.#onReply(reply));
		worker.on("error", (error) => this.#onDeath(worker, describeError(error)));
		worker.on("exit", (code) => this.#onDeath(worker, `exit status ${code}`));
		return worker;
	}

	#onReply(reply: IndexReply): void {
		if (reply.kind === "progress") {
			this.#waiting.get(reply.call)?.onProgress?.(reply.progress);
			return;
		}
		const waiting = this.#settle(reply.call);
		if (reply.kind === "answer") waiting?.resolve(fromColumns(reply.value));
		else waiting?.reject(new CodeIndexError(reply.code, reply.message));
	}

	#onDeath(worker: Worker, reason: string): void {
		if (this.#worker !== worker) return;
		this.#worker = undefined;
		const message = `The code index stopped unexpectedly (${reason}). The next question starts it again.`;
		this.#rejectAll(new CodeIndexError("failed", message));
	}

	/** Takes someone off the list of those who wait. */
	#settle(call: number): Waiting | undefined {
		const waiting = this.#waiting.get(call);
		this.#waiting.delete(call);
		if (this.#waiting.size === 0) this.#worker?.unref();
		return waiting;
	}

	#rejectAll(error: CodeIndexError): void {
		for (const call of [...this.#waiting.keys()]) this.#settle(call)?.reject(error);
	}

	#post(request: IndexRequest): void {
		this.#worker?.postMessage(request);
	}
}

function aborted(): CodeIndexError {
	return new CodeIndexError("aborted", "The call was aborted.");
}
