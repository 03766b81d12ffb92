import { describeError } from "../../core/errno.ts";
import { type CallOptions, CodeIndexError } from "../code-index.ts";
import type { IndexService } from "./index-service.ts";
import type { Calls, IndexCall, IndexCaller, IndexWorkerStart, Method } from "./messages.ts";

/** Asks an index in the calling thread. Calls run one after the other. */
export class LocalClient implements IndexCaller {
	readonly #service: Promise<IndexService>;
	#last: Promise<unknown> = Promise.resolve();

	constructor({ root, database, exclude }: IndexWorkerStart) {
		this.#service = import("./index-service.ts").then(
			(code) => new code.IndexService(root, database, exclude),
		);
		this.#service.catch(() => {}); // `call` reports it
	}

	call<M extends Method>(
		method: M,
		query: Calls[M]["query"],
		options: CallOptions = {},
	): Promise<Calls[M]["answer"]> {
		const { signal = new AbortController().signal, onProgress = () => {} } = options;
		const run = async () => {
			const call = { method, query } as IndexCall;
			return (await answerCall(await this.#service, call, {
				signal,
				onProgress,
			})) as Calls[M]["answer"];
		};
		const answer = this.#last.then(run, run);
		this.#last = answer.catch(() => {});
		return answer;
	}

	async close(): Promise<void> {
		await this.#last;
		(await this.#service).close();
	}
}

/** Rejects with a `CodeIndexError`. */
async function answerCall(
	service: IndexService,
	call: IndexCall,
	options: Required<CallOptions>,
): Promise<unknown> {
	try {
		if (call.method === "status") return await service.status();
		if (call.method === "build") return await service.build(options);
		return await service.ask(call.method, call.query, options);
	} catch (error) {
		if (error instanceof CodeIndexError) throw error;
		if (options.signal.aborted) throw new CodeIndexError("aborted", "The call was aborted.");
		throw new CodeIndexError("failed", describeError(error), { cause: error });
	}
}
