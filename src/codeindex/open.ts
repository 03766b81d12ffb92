import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeError } from "../core/errno.ts";
import { cacheFolder } from "../core/places.ts";
import { openStoreFolder } from "../core/store-version.ts";
import type { QuestionName } from "./answers.ts";
import { type CallOptions, type CodeIndex, CodeIndexError } from "./code-index.ts";
import type { Calls, IndexCaller, IndexWorkerStart } from "./service/messages.ts";
import { storeFailure } from "./store/failures.ts";

/** The project, and where its index is stored. */
export interface OpenOptions {
	readonly root: string;
	/** Holds one subfolder per index. Default: {@link codeIndexFolder}. */
	readonly folder?: string;
	/** Glob patterns of documents that a search never shows. Default: none. */
	readonly exclude?: readonly string[];
	/** Answers in the calling thread, for one question: a thread of its own starts slower than it answers. */
	readonly inThisThread?: boolean;
}

/** Opens a project's index. The first call starts its worker, unless the index is in this thread. Throws if `root` does not exist. */
export function openCodeIndex(options: OpenOptions): CodeIndex {
	const { root, folder = codeIndexFolder(), exclude = [], inThisThread = false } = options;
	const real = realRoot(root);
	const place = { root: real, database: indexFile(folder, real), exclude };
	const client = openClient(place, inThisThread);
	client.catch(() => {}); // each call reports it
	const call: IndexCaller["call"] = async (...given) => (await client).call(...given);
	const asked =
		<Name extends QuestionName>(name: Name) =>
		(query: Calls[Name]["query"], options?: CallOptions) =>
			call(name, query, options);
	return {
		root: real,
		status: () => call("status", undefined),
		async build({ skeletonFirst = false, ...options } = {}) {
			await claimFolder(folder);
			return call("build", { skeletonFirst }, options);
		},
		search: asked("search"),
		dependencies: asked("dependencies"),
		outline: asked("outline"),
		symbol: asked("symbol"),
		usages: asked("usages"),
		impact: asked("impact"),
		taskContext: asked("taskContext"),
		symbolMap: asked("symbolMap"),
		close: async () => (await client).close(),
	};
}

/** Loads only the code of the client that is used. */
async function openClient(place: IndexWorkerStart, inThisThread: boolean): Promise<IndexCaller> {
	if (inThisThread) return new (await import("./service/local-client.ts")).LocalClient(place);
	return new (await import("./service/index-client.ts")).IndexClient(place);
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
