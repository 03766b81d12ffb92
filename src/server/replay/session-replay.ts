import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { temporaryName } from "../../core/atomic-file.ts";
import { loadConfig } from "../../core/config.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import type { ReplayReport } from "../../economy/replay/index.ts";
import { type Call, CommandError } from "../engine/call.ts";
import { FairQueue } from "./fair-queue.ts";
import type { ReplayJob } from "./replay-worker.ts";

export type SessionReplay = ReturnType<typeof createSessionReplay>;

/** Maximum replays in total and per principal. One principal cannot occupy all threads. */
const LIMITS = { running: 2, runningPerPrincipal: 1, waiting: 64, waitingPerPrincipal: 8 };
const MAX_HEAP_MB = 1024;

/** Runs replays in worker threads, because a replay takes seconds of CPU. Principals take turns. */
export function createSessionReplay(options: { agentDir: string; cwd: string; tmpFolder: string }) {
	const { tmpFolder } = options;
	const queue = new FairQueue(LIMITS);
	const entry = workerEntry("./replay-worker", import.meta.url);
	const supervisor = new WorkerSupervisor<ReplayJob, ReplayReport>({
		start: () => thread(entry, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } }),
		size: LIMITS.running,
		// An idle worker ends at once, because a replay leaves a large heap behind.
		idleMs: 0,
	});

	async function replay(file: string, shownAs: string, signal: AbortSignal): Promise<ReplayReport> {
		const { config } = loadConfig(options);
		try {
			return await supervisor.run({ file, shownAs, prune: config.prune }, { signal });
		} catch (error) {
			const { fault, message } = error as WorkerError;
			throw new CommandError("failed", FAULTS[fault] ?? message);
		}
	}

	return {
		/** The caller must check that the principal may read `file`. */
		ofFile: (file: string, { principal, signal }: ReplayCaller) =>
			queue.run(principal, signal, () => replay(file, basename(file), signal)),
		ofContent: (content: string, { principal, signal }: ReplayCaller) =>
			queue.run(principal, signal, async () => {
				await mkdir(tmpFolder, { recursive: true, mode: 0o700 });
				const file = join(tmpFolder, temporaryName());
				try {
					await writeFile(file, content, { flag: "wx", mode: 0o600 });
					return await replay(file, "content", signal);
				} finally {
					await rm(file, { force: true });
				}
			}),
	};
}

type ReplayCaller = Pick<Call, "principal" | "signal">;

const FAULTS: { readonly [Fault in WorkerError["fault"]]?: string } = {
	aborted: "the replay was aborted",
	memory: "the session is too large to replay",
	crash: "the replay crashed",
	start: "the replay could not start",
};
