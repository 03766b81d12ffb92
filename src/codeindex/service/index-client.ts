import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import { type CallOptions, CodeIndexError, type IndexProgress } from "../code-index.ts";
import { fromColumns } from "./answer-columns.ts";
import type { Calls, IndexCall, IndexWorkerStart, Method } from "./messages.ts";

/** Time for the worker to close its database. */
const CLOSE_MS = 3_000;

/** The thread that an index lives in, seen from outside. */
export class IndexClient {
	readonly #supervisor: WorkerSupervisor<IndexCall, unknown, IndexProgress>;
	#isClosed = false;

	constructor(workerData: IndexWorkerStart) {
		const entry = workerEntry("./index-worker", import.meta.url);
		this.#supervisor = new WorkerSupervisor({
			start: () => thread(entry, { workerData }),
			ahead: Number.POSITIVE_INFINITY,
			closeMs: CLOSE_MS,
			onAbort: "signal",
		});
	}

	/** Calls a method. Rejects with a `CodeIndexError`, immediately with `aborted` when the signal aborts. */
	async call<M extends Method>(
		method: M,
		query: Calls[M]["query"],
		{ signal, onProgress = () => {} }: CallOptions = {},
	): Promise<Calls[M]["answer"]> {
		if (this.#isClosed) throw new CodeIndexError("failed", "The code index has been closed.");
		try {
			const job = { method, query } as IndexCall;
			const value = await this.#supervisor.run(job, { signal, onNote: onProgress });
			return fromColumns(value) as Calls[M]["answer"]; // the worker answers by the same table
		} catch (error) {
			throw indexError(error as WorkerError);
		}
	}

	/** Ends the thread. Calls in flight are rejected. */
	close(): Promise<void> {
		this.#isClosed = true;
		return this.#supervisor.close();
	}
}

function indexError(cause: WorkerError): CodeIndexError {
	const { fault, message, code } = cause;
	if (fault === "failed")
		return new CodeIndexError((code ?? fault) as CodeIndexError["code"], message);
	if (fault === "aborted") return new CodeIndexError("aborted", "The call was aborted.");
	if (fault === "closed") return new CodeIndexError("aborted", "The code index was closed.");
	if (fault === "unsendable") {
		const what = `The question cannot be put to the code index: ${message}`;
		return new CodeIndexError("bad-query", what, { cause });
	}
	if (fault === "busy") return new CodeIndexError("failed", `The code index is busy: ${message}.`);
	const what = `The code index stopped unexpectedly (${message}). The next question starts it again.`;
	return new CodeIndexError("failed", what);
}
