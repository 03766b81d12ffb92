import { basename } from "node:path";
import { workerEntry } from "../../core/worker-entry.ts";
import type { Data, ResponseData } from "../../protocol/index.ts";
import type { Call } from "../engine/call.ts";
import { notFound } from "../safe-text.ts";
import { SessionFilesWorker } from "../session-files-worker.ts";
import type { FindAnswer, FindJob } from "./find-worker.ts";
import type { FoundFile, PageQuery } from "./found-page.ts";

interface SessionFinderOptions {
	readonly agentDir: string;
	/** Names the folders of agents. Default: the process's own. */
	readonly env?: NodeJS.ProcessEnv;
	/** A session file of pi, if the principal may read it. */
	readonly storedFile: (principal: string, path: string) => Promise<StoredFile | undefined>;
}

interface StoredFile {
	readonly path: string;
	readonly title?: string | undefined;
}

type Caller = Pick<Call, "principal" | "signal">;

/** The worker caches its list while a user pages through it. */
const IDLE_MS = 60_000;
const MAX_HEAP_MB = 512;
/** One answer looks at this many pages, since files of other principals are left out. */
const MAX_PAGES = 10;

/** The session files that `strata replay --find` lists, as a principal sees them. Looks in a thread. */
export class SessionFinder {
	readonly #storedFile: SessionFinderOptions["storedFile"];
	readonly #worker: SessionFilesWorker<FindJob, FindAnswer>;

	constructor({ agentDir, env, storedFile }: SessionFinderOptions) {
		this.#storedFile = storedFile;
		this.#worker = new SessionFilesWorker({
			...{ agentDir, env, idleMs: IDLE_MS, maxHeapMb: MAX_HEAP_MB },
			entry: workerEntry("./find-worker", import.meta.url),
		});
	}

	async list(query: PageQuery, caller: Caller): Promise<ResponseData["list_agent_sessions"]> {
		const files: Data<"SessionFile">[] = [];
		let { after } = query;
		for (let pages = 0; pages < MAX_PAGES; pages++) {
			const limit = query.limit - files.length;
			const { page } = await this.#worker.run(
				{ query: { ...query, limit, ...(after !== undefined && { after }) } },
				caller.signal,
			);
			for (const file of page?.files ?? []) {
				const shown = await this.#shown(file, caller.principal);
				if (shown) files.push(shown);
			}
			after = page?.next;
			if (after === undefined) return { files };
			if (files.length === query.limit) break;
		}
		return { files, ...(after !== undefined && { next: after }) };
	}

	/** Resolves to the path of a listed file. Rejects if the principal may not read it. */
	async fileOf(fileId: string, caller: Caller): Promise<string> {
		const { file } = await this.#worker.run({ fileId }, caller.signal);
		const stored = file && (await this.#stored(file, caller.principal));
		if (stored) return stored.path;
		throw notFound("fileId: there is no such session file; it may have been moved or deleted");
	}

	close(): Promise<void> {
		return this.#worker.close();
	}

	async #shown(found: FoundFile, principal: string): Promise<Data<"SessionFile"> | undefined> {
		const { fileId, agent, file, project, lastUseMs, bytes } = found;
		const stored = await this.#stored(found, principal);
		if (!stored) return undefined;
		return {
			...{ fileId, agent, name: basename(file), lastUseMs, bytes },
			...(stored.title && { title: stored.title }),
			...(project !== undefined && { project }),
		};
	}

	/** Only the server's own sessions, which are those of pi, have owners. */
	async #stored({ agent, file }: FoundFile, principal: string): Promise<StoredFile | undefined> {
		return agent === "pi" ? await this.#storedFile(principal, file) : { path: file };
	}
}
