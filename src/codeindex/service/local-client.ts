import { existsSync } from "node:fs";
import { describeError } from "../../core/errno.ts";
import { type CallOptions, CodeIndexError } from "../code-index.ts";
import { startListing } from "../scan/git-files.ts";
import type { IndexService, ServiceCall } from "./index-service.ts";
import type { Calls, IndexCall, IndexCaller, IndexWorkerStart, Method } from "./messages.ts";

/** Asks an index in the calling thread. Calls run one after the other. */
export class LocalClient implements IndexCaller {
	readonly #start: IndexWorkerStart;
	#service: Promise<IndexService> | undefined;
	#hasListed = false;
	#last: Promise<unknown> = Promise.resolve();

	constructor(start: IndexWorkerStart) {
		this.#start = start;
	}

	call<M extends Method>(
		method: M,
		query: Calls[M]["query"],
		options: CallOptions = {},
	): Promise<Calls[M]["answer"]> {
		const { signal = new AbortController().signal, onProgress = () => {} } = options;
		// Git lists the files of the first call that needs them while the code is loaded. A question needs an index.
		const { root, database } = this.#start;
		const needsFiles = method === "build" || (method !== "status" && existsSync(database));
		const listing = needsFiles && !this.#hasListed ? startListing(root) : undefined;
		this.#hasListed ||= needsFiles;
		this.#service ??= this.#load();
		const service = this.#service;
		const run = async () => {
			const call = { method, query } as IndexCall;
			let left = listing;
			const takeListing = () => {
				const taken = left;
				left = undefined;
				return taken;
			};
			try {
				const options = { signal, onProgress, takeListing };
				return (await answerCall(await service, call, options)) as Calls[M]["answer"];
			} finally {
				await left?.stop();
			}
		};
		const answer = this.#last.then(run, run);
		this.#last = answer.catch(() => {});
		return answer;
	}

	async close(): Promise<void> {
		await this.#last;
		(await this.#service)?.close();
	}

	async #load(): Promise<IndexService> {
		const { root, database, exclude } = this.#start;
		const { IndexService } = await import("./index-service.ts");
		return new IndexService(root, database, exclude);
	}
}

/** Rejects with a `CodeIndexError`. */
async function answerCall(
	service: IndexService,
	call: IndexCall,
	options: ServiceCall,
): Promise<unknown> {
	try {
		if (call.method === "status") return await service.status();
		if (call.method === "build") return await service.build(options, call.query);
		return await service.ask(call.method, call.query, options);
	} catch (error) {
		if (error instanceof CodeIndexError) throw error;
		if (options.signal.aborted) throw new CodeIndexError("aborted", "The call was aborted.");
		throw new CodeIndexError("failed", describeError(error), { cause: error });
	}
}
