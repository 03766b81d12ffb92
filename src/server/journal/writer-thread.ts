import { Worker } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import type { WriterReply, WriterRequest } from "./messages.ts";

/** The thread ended before it answered. What it was asked to do may have happened or not. */
export class ThreadDied extends Error {}

/**
 * The thread that writes the journal, seen from outside. It starts with the first request, and again with the first
 * after it died. It keeps the process alive only while there is a reply to wait for.
 */
export class WriterThread {
	readonly #startWorker: () => Worker;
	#worker: Worker | undefined;
	#waiting: { resolve(reply: WriterReply): void; reject(error: Error): void } | undefined;

	/** Tests give a `startWorker` of their own, to get at the worker. */
	constructor(startWorker: () => Worker = startJournalWorker) {
		this.#startWorker = startWorker;
	}

	/** Sends a request. One at a time: the next one only after the reply. Rejects with {@link ThreadDied}. */
	request(request: WriterRequest): Promise<WriterReply> {
		return new Promise((resolve, reject) => {
			this.#waiting = { resolve, reject };
			try {
				this.#worker ??= this.#start();
				this.#worker.ref();
				this.#worker.postMessage(request);
			} catch (error) {
				// The system has no thread left.
				this.#waiting = undefined;
				reject(new ThreadDied(describeError(error)));
			}
		});
	}

	/** Ends the thread as it is; `close` the file first. */
	async end(): Promise<void> {
		const worker = this.#worker;
		this.#worker = undefined;
		await worker?.terminate();
	}

	#start(): Worker {
		const worker = this.#startWorker();
		worker.on("message", (reply: WriterReply) => {
			worker.unref();
			const waiting = this.#waiting;
			this.#waiting = undefined;
			waiting?.resolve(reply);
		});
		worker.on("error", (error) => this.#onDeath(worker, describeError(error)));
		worker.on("exit", (code) => this.#onDeath(worker, `exit status ${code}`));
		return worker;
	}

	#onDeath(worker: Worker, reason: string): void {
		if (this.#worker !== worker) return;
		this.#worker = undefined;
		const waiting = this.#waiting;
		this.#waiting = undefined;
		waiting?.reject(new ThreadDied(reason));
	}
}

/** Starts a worker that writes a journal. */
export function startJournalWorker(): Worker {
	const worker = new Worker(workerEntry("./journal-worker", import.meta.url), {
		execArgv: [],
		// What Node prints must not end up in a protocol on standard output.
		stdout: true,
		stderr: true,
	});
	worker.stdout.resume();
	worker.stderr.resume();
	return worker;
}
