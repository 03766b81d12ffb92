import { CommandError } from "../engine/call.ts";

/** Runs heavy work of many principals, a little at a time: each gets its turn, however much another asks for. */
export interface FairQueue {
	/**
	 * Runs `work` when it is the principal's turn. What is aborted while it waits never runs.
	 * @throws CommandError `busy` where too much waits already, `failed` when it was aborted
	 */
	run<Result>(principal: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

export interface FairQueueLimits {
	/** Running at once, in all and of one principal. */
	readonly atOnce: number;
	readonly atOnceOfOne: number;
	/** Waiting, in all and of one principal. */
	readonly waiting: number;
	readonly waitingOfOne: number;
}

interface Tenant {
	running: number;
	/** Oldest first. */
	readonly waiting: Set<() => void>;
}

/** Takes turns among the principals that have something waiting, the one served last at the end. */
export function createFairQueue(limits: FairQueueLimits): FairQueue {
	/** In the order of their turns. */
	const tenants = new Map<string, Tenant>();
	let running = 0;
	let waiting = 0;

	return {
		async run(principal, signal, work) {
			await turnOf(principal, signal);
			try {
				return await work();
			} finally {
				running--;
				leave(principal);
				startNext();
			}
		},
	};

	function turnOf(principal: string, signal: AbortSignal): Promise<void> {
		const tenant = tenantOf(principal);
		const isFull = waiting >= limits.waiting || tenant.waiting.size >= limits.waitingOfOne;
		return new Promise((resolve, reject) => {
			const stop = () => {
				tenant.waiting.delete(begin);
				waiting--;
				forgetIfIdle(principal);
				reject(new CommandError("failed", "the replay was stopped"));
			};
			const begin = () => {
				signal.removeEventListener("abort", stop);
				resolve();
			};
			tenant.waiting.add(begin);
			waiting++;
			startNext();
			if (!tenant.waiting.has(begin)) return;
			if (signal.aborted) return stop();
			if (!isFull) return signal.addEventListener("abort", stop, { once: true });
			tenant.waiting.delete(begin);
			waiting--;
			forgetIfIdle(principal);
			const why = `${tenant.waiting.size} replays of yours are waiting, ${waiting} in all`;
			reject(new CommandError("busy", `${why}: try again when one is done`));
		});
	}

	function startNext(): void {
		while (running < limits.atOnce) {
			const next = [...tenants].find(
				([, tenant]) => tenant.waiting.size > 0 && tenant.running < limits.atOnceOfOne,
			);
			if (!next) return;
			const [, tenant] = next;
			const [begin] = tenant.waiting;
			if (!begin) return;
			tenant.waiting.delete(begin);
			waiting--;
			running++;
			tenant.running++;
			begin();
		}
	}

	function tenantOf(principal: string): Tenant {
		const tenant = tenants.get(principal) ?? { running: 0, waiting: new Set() };
		tenants.set(principal, tenant);
		return tenant;
	}

	/** Something of the principal is done: now it is behind the others. */
	function leave(principal: string): void {
		const tenant = tenantOf(principal);
		tenant.running--;
		tenants.delete(principal);
		tenants.set(principal, tenant);
		forgetIfIdle(principal);
	}

	function forgetIfIdle(principal: string): void {
		const tenant = tenants.get(principal);
		if (tenant && tenant.running === 0 && tenant.waiting.size === 0) tenants.delete(principal);
	}
}
