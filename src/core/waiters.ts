/**
 * Those who wait for one piece of work that is done for all of them. Each may leave by a signal of its own; only when
 * the last has left is the work told to stop.
 */
export class Waiters<T> {
	readonly #waiting = new Set<PromiseWithResolvers<T>>();
	readonly #controller = new AbortController();
	readonly #abortError: (signal: AbortSignal) => Error;

	/** `abortError` makes what one who leaves is rejected with. */
	constructor(abortError: (signal: AbortSignal) => Error) {
		this.#abortError = abortError;
	}

	/** For the work: fires when nobody waits for it any more. Whoever comes then must not join, but begin anew. */
	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	/** How many are waiting. */
	get size(): number {
		return this.#waiting.size;
	}

	/** Waits for the result, or until `signal` fires. It must not have fired already. */
	join(signal: AbortSignal | undefined): Promise<T> {
		const { promise, resolve, reject } = Promise.withResolvers<T>();
		const leave = () => {
			this.#waiting.delete(waiter);
			if (signal) reject(this.#abortError(signal));
			if (this.#waiting.size === 0) this.#controller.abort();
		};
		const waiter: PromiseWithResolvers<T> = {
			promise,
			resolve(value) {
				signal?.removeEventListener("abort", leave);
				resolve(value);
			},
			reject(error) {
				signal?.removeEventListener("abort", leave);
				reject(error);
			},
		};
		signal?.addEventListener("abort", leave, { once: true });
		this.#waiting.add(waiter);
		return promise;
	}

	/** Ends the work: all who still wait have its result. */
	resolve(value: T): void {
		for (const waiter of this.#waiting) waiter.resolve(value);
		this.#waiting.clear();
	}

	/** Ends the work: it has failed for all who still wait. */
	reject(error: unknown): void {
		for (const waiter of this.#waiting) waiter.reject(error);
		this.#waiting.clear();
	}
}
