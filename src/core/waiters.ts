/** The callers of shared work. Each can leave by its own signal. The last one to leave aborts the work. */
export class Waiters<T> {
	readonly #waiting = new Set<Waiter<T>>();
	readonly #controller = new AbortController();
	/** Fires when the last caller leaves, to abort the work. A later caller must start new work, not join. */
	readonly signal: AbortSignal = this.#controller.signal;
	readonly #settled = new AbortController();
	readonly #abortError: (signal: AbortSignal) => Error;

	constructor(abortError: (signal: AbortSignal) => Error) {
		this.#abortError = abortError;
	}

	get size(): number {
		return this.#waiting.size;
	}

	/** `signal` must not have fired already. */
	join(signal: AbortSignal | undefined): Promise<T> {
		const { promise, ...waiter } = Promise.withResolvers<T>();
		const leave = () => {
			this.#waiting.delete(waiter);
			if (signal) waiter.reject(this.#abortError(signal));
			if (this.#waiting.size === 0) this.#controller.abort();
		};
		signal?.addEventListener("abort", leave, { once: true, signal: this.#settled.signal });
		this.#waiting.add(waiter);
		return promise;
	}

	resolve(value: T): void {
		this.#settle((waiter) => waiter.resolve(value));
	}

	reject(error: unknown): void {
		this.#settle((waiter) => waiter.reject(error));
	}

	#settle(settle: (waiter: Waiter<T>) => void): void {
		this.#settled.abort();
		this.#waiting.forEach(settle);
		this.#waiting.clear();
	}
}

type Waiter<T> = Omit<PromiseWithResolvers<T>, "promise">;
