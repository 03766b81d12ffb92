/** Shared work. Each caller may leave by its own signal; the last one to leave aborts the work. */
export class Waiters<T> {
	readonly #waiting = new Set<PromiseWithResolvers<T>>();
	readonly #controller = new AbortController();
	readonly #abortError: (signal: AbortSignal) => Error;

	constructor(abortError: (signal: AbortSignal) => Error) {
		this.#abortError = abortError;
	}

	/** Aborts the work when the last caller leaves. Later callers must not join, but start again. */
	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	get size(): number {
		return this.#waiting.size;
	}

	/** `signal` must not have fired already. */
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

	resolve(value: T): void {
		for (const waiter of this.#waiting) waiter.resolve(value);
		this.#waiting.clear();
	}

	reject(error: unknown): void {
		for (const waiter of this.#waiting) waiter.reject(error);
		this.#waiting.clear();
	}
}
