import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeError } from "../core/errno.ts";
import { cacheFolder } from "../core/places.ts";
import { openStoreFolder } from "../core/store-version.ts";
import { workerEntry } from "../core/worker-entry.ts";
import { thread } from "../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../core/worker-supervisor.ts";
import type { QuestionName } from "./answers.ts";
import {
	type CallOptions,
	type CodeIndex,
	CodeIndexError,
	type IndexProgress,
} from "./code-index.ts";
import {
	type Calls,
	fromColumns,
	type IndexCall,
	type IndexWorkerStart,
	type Method,
} from "./service/messages.ts";
import { storeFailure } from "./store/failures.ts";

/** The project, and where its index is stored. */
export interface OpenOptions {
	readonly root: string;
	/** Holds one subfolder per index. Default: {@link codeIndexFolder}. */
	readonly folder?: string;
}

/** Opens a project's index. The first call starts its worker. Throws if `root` does not exist. */
export function openCodeIndex({ root, folder = codeIndexFolder() }: OpenOptions): CodeIndex {
	const real = realRoot(root);
	const client = new IndexClient({ root: real, database: indexFile(folder, real) });
	const asked =
		<Name extends QuestionName>(name: Name) =>
		(query: Calls[Name]["query"], options?: CallOptions) =>
			client.call(name, query, options);
	return {
		root: real,
		status: () => client.call("status", undefined),
		async build(options) {
			await claimFolder(folder);
			return client.call("build", undefined, options);
		},
		search: asked("search"),
		dependencies: asked("dependencies"),
		outline: asked("outline"),
		symbol: asked("symbol"),
		usages: asked("usages"),
		impact: asked("impact"),
		taskContext: asked("taskContext"),
		symbolMap: asked("symbolMap"),
		close: () => client.close(),
	};
}

export function codeIndexFolder(env: NodeJS.ProcessEnv = process.env): string {
	return join(cacheFolder(env), "codeindex");
}

/** Deletes a project's index from disk. `root` must be a real path. The index must not be open. */
export async function deleteCodeIndex(root: string, folder = codeIndexFolder()): Promise<void> {
	await rm(dirname(indexFile(folder, root)), { recursive: true, force: true });
}

/** Marks the folder as ours, so `strata clean` may delete it. Throws if the folder is not ours. */
async function claimFolder(folder: string): Promise<void> {
	const opened = await openStoreFolder({
		folder,
		name: CODE_INDEX_STORE,
		version: 1,
		owns: (entry) => /-[0-9a-f]{16}$/.test(entry),
	});
	if (opened.kind === "ready") return;
	const cause = opened.kind === "unusable" ? opened.cause : undefined;
	const failure = cause === undefined ? "other" : storeFailure(cause);
	// If the folder cannot be written to, the index stays in memory.
	if (failure === "full" || failure === "unwritable") return;
	throw new CodeIndexError("unavailable", opened.message, { cause });
}

export const CODE_INDEX_STORE = "codeindex";

/** The subfolder has a readable name plus a hash, since project names are not unique. */
function indexFile(folder: string, root: string): string {
	const name =
		basename(root)
			.replaceAll(/[^\w.-]+/g, "_")
			.slice(0, 40) || "root";
	return join(folder, `${name}-${hash("sha256", root, "hex").slice(0, 16)}`, "index.db");
}

function realRoot(root: string): string {
	try {
		return realpathSync(root);
	} catch (error) {
		const message = `The project folder ${root} cannot be used: ${describeError(error)}`;
		throw new CodeIndexError("unavailable", message, { cause: error });
	}
}

const CLOSE_MS = 3_000;

export class IndexClient {
	readonly #supervisor: WorkerSupervisor<IndexCall, unknown, IndexProgress>;
	#isClosed = false;

	constructor(workerData: IndexWorkerStart) {
		const entry = workerEntry("./service/index-worker", import.meta.url);
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
