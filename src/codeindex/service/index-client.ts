import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import { type CallOptions, CodeIndexError, type IndexProgress } from "../code-index.ts";
import {
	type Calls,
	fromColumns,
	type IndexCall,
	type IndexCaller,
	type IndexWorkerStart,
	type Method,
} from "./messages.ts";

const CLOSE_MS = 3_000;

/** Asks an index in a thread of its own. */
export class IndexClient implements IndexCaller {
	readonly #supervisor: WorkerSupervisor<IndexCall, unknown, IndexProgress>;
	#isClosed = false;

	constructor(workerData: IndexWorkerStart) {
		const entry = workerEntry("./index-worker", import.meta.url);
		this.#supervisor = new WorkerSupervisor({
			start: () => thread(entry, { workerData }),
			maxInFlight: Number.POSITIVE_INFINITY,
			closeMs: CLOSE_MS,
			onAbort: "signal",
		});
	}

	/** Rejects with a `CodeIndexError`; an abort rejects at once with `aborted`. */
	async call<M extends Method>(
		method: M,
		query: Calls[M]["query"],
		{ signal, onProgress = () => {} }: CallOptions = {},
	): Promise<Calls[M]["answer"]> {
		if (this.#isClosed) throw new CodeIndexError("failed", "The code index has been closed.");
		try {
			const job = { method, query } as IndexCall;
			const value = await this.#supervisor.run(job, { signal, onNote: onProgress });
			return fromColumns(value) as Calls[M]["answer"]; // the worker uses the same `Calls`
		} catch (error) {
			throw indexError(error as WorkerError);
		}
	}

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
		const unsendable = `The question cannot be sent to the code index: ${message}`;
		return new CodeIndexError("bad-query", unsendable, { cause });
	}
	if (fault === "busy") return new CodeIndexError("failed", `The code index is busy: ${message}.`);
	const stopped = `The code index stopped unexpectedly (${message}). The next question starts it again.`;
	return new CodeIndexError("failed", stopped);
}
