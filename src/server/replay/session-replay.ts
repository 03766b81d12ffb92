import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { temporaryName } from "../../core/atomic-file.ts";
import { loadConfig } from "../../core/config.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import {
	type WorkerError,
	type WorkerFault,
	WorkerSupervisor,
} from "../../core/worker-supervisor.ts";
import type { ReplayReport } from "../../economy/replay/index.ts";
import { CommandError } from "../engine/call.ts";
import { createFairQueue, type FairQueueLimits } from "./fair-queue.ts";
import type { ReplayOrder } from "./replay-worker.ts";

/** Runs in threads, as a replay takes seconds of CPU. Principals take turns. */
export interface SessionReplay {
	/** What a session file cost and would have cost. `file` must have been checked. */
	ofFile(file: string, by: ReplayedFor): Promise<ReplayReport>;
	ofContent(content: string, by: ReplayedFor): Promise<ReplayReport>;
}

export interface ReplayedFor {
	readonly principal: string;
	readonly signal: AbortSignal;
}

export interface SessionReplayOptions {
	agentDir: string;
	cwd: string;
	tmpFolder: string;
}

/** One principal never has all threads. */
const LIMITS: FairQueueLimits = { atOnce: 2, atOnceOfOne: 1, waiting: 64, waitingOfOne: 8 };
const MAX_HEAP_MB = 1024;

export function createSessionReplay({
	agentDir,
	cwd,
	tmpFolder,
}: SessionReplayOptions): SessionReplay {
	const queue = createFairQueue(LIMITS);
	const entry = workerEntry("./replay-worker", import.meta.url);
	const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
	const supervisor = new WorkerSupervisor<ReplayOrder, ReplayReport>({
		start: () => thread(entry, { resourceLimits }),
		size: LIMITS.atOnce,
		// A replay leaves a large heap behind.
		idleMs: 0,
	});

	async function replay(file: string, shownAs: string, signal: AbortSignal): Promise<ReplayReport> {
		const { config } = loadConfig({ agentDir, cwd });
		try {
			return await supervisor.run({ file, shownAs, prune: config.prune }, { signal });
		} catch (error) {
			const { fault, message } = error as WorkerError;
			throw new CommandError("failed", FAULTS[fault] ?? message);
		}
	}

	return {
		ofFile: (file, { principal, signal }) =>
			queue.run(principal, signal, () => replay(file, basename(file), signal)),
		ofContent: (content, { principal, signal }) =>
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

const FAULTS: { readonly [Fault in WorkerFault]?: string } = {
	aborted: "the replay was stopped",
	memory: "the session is too large to replay",
	crash: "the replay broke off",
	start: "the replay broke off",
};
