import { CommandError } from "../engine/call.ts";

export interface FairQueueLimits {
	/** Running, in total and per principal. */
	readonly atOnce: number;
	readonly atOnceOfOne: number;
	/** Waiting, in total and per principal. */
	readonly waiting: number;
	readonly waitingOfOne: number;
}

interface Tenant {
	running: number;
	readonly waiting: Set<() => void>;
}

/** Runs heavy work; the principal served last goes to the end. */
export function createFairQueue(limits: FairQueueLimits) {
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
