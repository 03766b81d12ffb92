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
import { type Call, CommandError } from "../engine/call.ts";
import type { ReplayOrder } from "./replay-worker.ts";

export type SessionReplay = ReturnType<typeof createSessionReplay>;

/** Running and waiting, in total and per principal: one principal never has all threads. */
const LIMITS = { atOnce: 2, atOnceOfOne: 1, waiting: 64, waitingOfOne: 8 };
const MAX_HEAP_MB = 1024;

/**
 * What a session cost and would have cost. Runs in threads, as a replay takes seconds of CPU.
 * Principals take turns.
 */
export function createSessionReplay(options: { agentDir: string; cwd: string; tmpFolder: string }) {
	const { tmpFolder } = options;
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
		const { config } = loadConfig(options);
		try {
			return await supervisor.run({ file, shownAs, prune: config.prune }, { signal });
		} catch (error) {
			const { fault, message } = error as WorkerError;
			throw new CommandError("failed", FAULTS[fault] ?? message);
		}
	}

	return {
		/** `file` must have been checked. */
		ofFile: (file: string, { principal, signal }: ReplayedFor) =>
			queue.run(principal, signal, () => replay(file, basename(file), signal)),
		ofContent: (content: string, { principal, signal }: ReplayedFor) =>
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

type ReplayedFor = Pick<Call, "principal" | "signal">;

const FAULTS: { readonly [Fault in WorkerFault]?: string } = {
	aborted: "the replay was stopped",
	memory: "the session is too large to replay",
	crash: "the replay broke off",
	start: "the replay broke off",
};

interface Tenant {
	running: number;
	readonly waiting: Set<() => void>;
}

/** Runs heavy work; the principal served last goes to the end. */
export function createFairQueue(limits: typeof LIMITS) {
	/** In the order of their turns. */
	const tenants = new Map<string, Tenant>();
	let running = 0;
	let waiting = 0;

	return {
		/** @throws CommandError `busy` if the queue is full, `failed` if aborted while waiting */
		async run<Result>(principal: string, signal: AbortSignal, work: () => Promise<Result>) {
			const tenant = tenants.get(principal) ?? { running: 0, waiting: new Set() };
			tenants.set(principal, tenant);
			try {
				await turnOf(tenant, signal);
			} catch (error) {
				dropIfIdle(principal, tenant);
				throw error;
			}
			try {
				return await work();
			} finally {
				running--;
				tenant.running--;
				tenants.delete(principal);
				tenants.set(principal, tenant);
				dropIfIdle(principal, tenant);
				startNext();
			}
		},
	};

	function turnOf(tenant: Tenant, signal: AbortSignal): Promise<void> {
		const isFull = waiting >= limits.waiting || tenant.waiting.size >= limits.waitingOfOne;
		return new Promise((resolve, reject) => {
			const leave = () => {
				tenant.waiting.delete(begin);
				waiting--;
			};
			const stop = () => {
				leave();
				reject(new CommandError("failed", "the replay was stopped"));
			};
			const begin = () => {
				leave();
				signal.removeEventListener("abort", stop);
				resolve();
			};
			tenant.waiting.add(begin);
			waiting++;
			startNext();
			if (!tenant.waiting.has(begin)) return;
			if (signal.aborted) return stop();
			if (!isFull) return signal.addEventListener("abort", stop, { once: true });
			leave();
			const why = `${tenant.waiting.size} replays of yours are waiting, ${waiting} in all`;
			reject(new CommandError("busy", `${why}: try again when one is done`));
		});
	}

	function startNext(): void {
		while (running < limits.atOnce) {
			const isNext = (tenant: Tenant) =>
				tenant.waiting.size > 0 && tenant.running < limits.atOnceOfOne;
			const tenant = [...tenants.values()].find(isNext);
			const [begin] = tenant?.waiting ?? [];
			if (!tenant || !begin) return;
			running++;
			tenant.running++;
			begin();
		}
	}

	function dropIfIdle(principal: string, tenant: Tenant): void {
		const isIdle = tenant.running === 0 && tenant.waiting.size === 0;
		// A new tenant may have its place.
		if (isIdle && tenants.get(principal) === tenant) tenants.delete(principal);
	}
}
