import { CommandError } from "../engine/call.ts";

interface Tenant {
	running: number;
	readonly waiting: Set<() => void>;
}

type Limit = "running" | "runningPerPrincipal" | "waiting" | "waitingPerPrincipal";

/** Runs heavy work, round-robin: after its run, a principal moves to the end. */
export class FairQueue {
	readonly #limits: Record<Limit, number>;
	readonly #noun: string;
	/** Keyed by principal, in the order of their turns. */
	readonly #tenants = new Map<string, Tenant>();
	#running = 0;
	#waiting = 0;

	/** `noun`: what the work is called in errors. */
	constructor(limits: Record<Limit, number>, noun = "replay") {
		this.#limits = limits;
		this.#noun = noun;
	}

	/** @throws CommandError `busy` if the queue is full, `failed` if aborted while waiting */
	async run<Result>(principal: string, signal: AbortSignal, work: () => Promise<Result>) {
		const tenant = this.#tenants.get(principal) ?? { running: 0, waiting: new Set() };
		this.#tenants.set(principal, tenant);
		try {
			await this.#waitForTurn(tenant, signal);
		} catch (error) {
			this.#dropIfIdle(principal, tenant);
			throw error;
		}
		try {
			return await work();
		} finally {
			this.#running--;
			tenant.running--;
			this.#tenants.delete(principal);
			this.#tenants.set(principal, tenant);
			this.#dropIfIdle(principal, tenant);
			this.#startNext();
		}
	}

	#waitForTurn(tenant: Tenant, signal: AbortSignal): Promise<void> {
		const { waiting, waitingPerPrincipal } = this.#limits;
		const isFull = this.#waiting >= waiting || tenant.waiting.size >= waitingPerPrincipal;
		return new Promise((resolve, reject) => {
			const leave = () => {
				tenant.waiting.delete(start);
				this.#waiting--;
			};
			const abort = () => {
				leave();
				reject(new CommandError("failed", `the ${this.#noun} was aborted`));
			};
			const start = () => {
				leave();
				signal.removeEventListener("abort", abort);
				resolve();
			};
			tenant.waiting.add(start);
			this.#waiting++;
			this.#startNext();
			if (!tenant.waiting.has(start)) return;
			if (signal.aborted) return abort();
			if (!isFull) return signal.addEventListener("abort", abort, { once: true });
			leave();
			const why = `${tenant.waiting.size} of your ${this.#noun}s are waiting, ${this.#waiting} in total`;
			reject(new CommandError("busy", `The ${this.#noun} queue is full (${why}): try again later`));
		});
	}

	#startNext(): void {
		const { running, runningPerPrincipal } = this.#limits;
		while (this.#running < running) {
			const isNext = ({ waiting, running }: Tenant) =>
				waiting.size > 0 && running < runningPerPrincipal;
			const tenant = [...this.#tenants.values()].find(isNext);
			const [start] = tenant?.waiting ?? [];
			if (!tenant || !start) return;
			this.#running++;
			tenant.running++;
			start();
		}
	}

	#dropIfIdle(principal: string, tenant: Tenant): void {
		const isIdle = tenant.running === 0 && tenant.waiting.size === 0;
		// The map may hold a newer tenant of the same principal.
		if (isIdle && this.#tenants.get(principal) === tenant) this.#tenants.delete(principal);
	}
}
