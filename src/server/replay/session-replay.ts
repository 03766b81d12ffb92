import { mkdir, open, readdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { isTemporaryName, temporaryName } from "../../core/atomic-file.ts";
import { loadConfig } from "../../core/config.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { childProcess } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import type { ReplayReport } from "../../economy/replay/index.ts";
import { MAX_UPLOAD, tooLarge } from "../../text/upload-size.ts";
import { type Call, CommandError } from "../engine/call.ts";
import { asCommandError } from "../safe-text.ts";
import { FairQueue } from "./fair-queue.ts";
import type { ReplayJob } from "./replay-worker.ts";

interface SessionReplayOptions {
	readonly agentDir: string;
	readonly cwd: string;
	/** For sent files. Those that a crash left there are deleted, and nothing else. */
	readonly tmpFolder: string;
}

/** Maximum replays in total and per principal. One principal cannot occupy all processes. */
const LIMITS = { running: 2, runningPerPrincipal: 1, waiting: 64, waitingPerPrincipal: 8 };
/** Files on disk that are being sent, or wait for their replay. The others are not read yet. */
const UPLOAD_LIMITS = { ...LIMITS, running: 8 };
const MAX_HEAP_MB = 1024;

type Caller = Pick<Call, "principal" | "signal">;

/**
 * Runs replays in other processes: a replay takes seconds of CPU, and SQLite could be held by a hostile
 * database for longer than a thread can be stopped. Principals take turns.
 */
export class SessionReplay {
	readonly #options: SessionReplayOptions;
	readonly #replays = new FairQueue(LIMITS);
	readonly #uploads = new FairQueue(UPLOAD_LIMITS);
	readonly #worker: WorkerSupervisor<ReplayJob, ReplayReport>;
	readonly #swept: Promise<void>;

	constructor(options: SessionReplayOptions) {
		this.#options = options;
		this.#swept = this.#sweep();
		const entry = workerEntry("./replay-worker", import.meta.url);
		this.#worker = new WorkerSupervisor({
			start: () => childProcess(entry, { args: [], maxHeapMb: MAX_HEAP_MB }),
			size: LIMITS.running,
			// An idle worker ends at once, because a replay leaves a large heap behind.
			idleMs: 0,
		});
	}

	/** The caller must check that the principal may read `file`. */
	ofFile(file: string, caller: Caller): Promise<ReplayReport> {
		return this.#replay(file, basename(file), caller);
	}

	ofContent(content: string, caller: Caller): Promise<ReplayReport> {
		return this.ofUpload(Readable.from(copyOf(content)), caller);
	}

	/** Reads `body` when it is the principal's turn, and leaves the rest unread if it is too large. */
	ofUpload(body: Readable, caller: Caller): Promise<ReplayReport> {
		return this.#uploads.run(caller.principal, caller.signal, async () => {
			await this.#swept;
			const folder = join(this.#options.tmpFolder, temporaryName());
			// A session of the older opencode names files two folders above: there are none.
			const file = join(folder, "alone", "alone", "content");
			try {
				await spool(body, file, caller.signal);
				return await this.#replay(file, "content", caller);
			} catch (error) {
				throw asCommandError(error);
			} finally {
				await rm(folder, { recursive: true, force: true });
			}
		});
	}

	async close(): Promise<void> {
		await this.#worker.close();
		await this.#sweep();
	}

	async #sweep(): Promise<void> {
		const { tmpFolder } = this.#options;
		try {
			for (const name of await readdir(tmpFolder)) {
				if (!isTemporaryName(name)) continue;
				await rm(join(tmpFolder, name), { recursive: true, force: true });
			}
			await rmdir(tmpFolder);
		} catch {
			// There is none, it has other files, or the next start tries again.
		}
	}

	#replay(file: string, shownAs: string, { principal, signal }: Caller): Promise<ReplayReport> {
		return this.#replays.run(principal, signal, async () => {
			const { config } = loadConfig(this.#options);
			try {
				return await this.#worker.run(
					{ file, shownAs, prune: config.prune, birth: config.birth },
					{ signal },
				);
			} catch (error) {
				const { fault, message } = error as WorkerError;
				throw new CommandError("failed", FAULTS[fault] ?? message);
			}
		});
	}
}

const FAULTS: { readonly [Fault in WorkerError["fault"]]?: string } = {
	aborted: "the replay was aborted",
	closed: "the server stopped during the replay",
	crash: "the replay crashed; perhaps the session is too large",
	start: "the replay could not start",
};

/** Copies when it is read: many commands may wait. */
function* copyOf(content: string) {
	yield Buffer.from(content);
}

async function spool(body: Readable, file: string, signal: AbortSignal): Promise<void> {
	await mkdir(dirname(file), { recursive: true, mode: 0o700 });
	const handle = await open(file, "wx", 0o600);
	try {
		let bytes = 0;
		// Destroying the body of a request would close its connection before the answer is sent.
		for await (const chunk of body.iterator({ destroyOnReturn: false })) {
			if (signal.aborted) throw new CommandError("failed", "the replay was aborted");
			bytes += chunk.length;
			if (bytes > MAX_UPLOAD) throw new CommandError("too_large", tooLarge("content"));
			await handle.writeFile(chunk);
		}
	} finally {
		await handle.close();
	}
}
