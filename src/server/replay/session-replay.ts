import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Worker } from "node:worker_threads";
import { temporaryName } from "../../core/atomic-file.ts";
import { loadConfig } from "../../core/config.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import type { ReplayReport } from "../../economy/index.ts";
import type { PruneSettings } from "../../pruning/index.ts";
import { CommandError } from "../engine/call.ts";
import { createFairQueue, type FairQueueLimits } from "./fair-queue.ts";

/**
 * Replays session files, in a thread of its own each: it is seconds of pure computing. Principals take turns, and an
 * abort ends a replay, whether it runs or waits.
 */
export interface SessionReplay {
	/** What a session file cost and would have cost. `file` must have been checked. */
	ofFile(file: string, by: ReplayedFor): Promise<ReplayReport>;
	/** The same for the text of one. */
	ofContent(content: string, by: ReplayedFor): Promise<ReplayReport>;
}

/** Who asks for a replay, and until when. */
export interface ReplayedFor {
	readonly principal: string;
	readonly signal: AbortSignal;
}

export interface SessionReplayOptions {
	agentDir: string;
	cwd: string;
	/** For files that are gone again when their replay is done. */
	tmpFolder: string;
}

/** What the thread gets and gives. */
export interface ReplayOrder {
	file: string;
	/** How the report and errors call the file. */
	shownAs: string;
	prune: PruneSettings;
}
export type ReplayAnswer = { ok: true; report: ReplayReport } | { ok: false; why: string };

/** One principal never has all threads. */
const LIMITS: FairQueueLimits = { atOnce: 2, atOnceOfOne: 1, waiting: 64, waitingOfOne: 8 };
const MAX_HEAP_MB = 1024;

export function createSessionReplay({
	agentDir,
	cwd,
	tmpFolder,
}: SessionReplayOptions): SessionReplay {
	const queue = createFairQueue(LIMITS);

	async function replay(file: string, shownAs: string, signal: AbortSignal): Promise<ReplayReport> {
		const { config } = loadConfig({ agentDir, cwd });
		const answer = await inThread({ file, shownAs, prune: config.prune }, signal);
		if (answer.ok) return answer.report;
		throw new CommandError("failed", answer.why);
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

function inThread(order: ReplayOrder, signal: AbortSignal): Promise<ReplayAnswer> {
	return new Promise((resolve, reject) => {
		const worker = new Worker(workerEntry("./replay-worker", import.meta.url), {
			workerData: order,
			resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
		});
		const stop = () => void worker.terminate();
		if (signal.aborted) stop();
		signal.addEventListener("abort", stop, { once: true });
		let answer: ReplayAnswer | undefined;
		worker.on("message", (message: ReplayAnswer) => {
			answer = message;
		});
		worker.on("error", (error: NodeJS.ErrnoException) => {
			const isTooLarge = error.code === "ERR_WORKER_OUT_OF_MEMORY";
			const why = isTooLarge ? "the session is too large to replay" : "the replay broke off";
			answer ??= { ok: false, why };
		});
		worker.on("exit", () => {
			signal.removeEventListener("abort", stop);
			if (answer) resolve(answer);
			else reject(new CommandError("failed", "the replay was stopped"));
		});
	});
}
