import { PagingError } from "../errors.ts";

/** The end of a piece of work: when its time is up, or when someone stops it. */
export interface Deadline {
	/** Aborts at the end, with the error to show as its reason. */
	signal: AbortSignal;
	/** The outcome of the work, or the reason at the very moment of the end, whatever the work is stuck in. */
	race<T>(work: Promise<T>): Promise<T>;
	/** Lets go of timer and signals; call it when the work is done. */
	stop(): void;
}

/** Starts the clock. `name` is what the errors call the work; each signal can end it, undefined ones cannot. */
export function startDeadline(
	name: string,
	timeoutMs: number,
	signals: readonly (AbortSignal | undefined)[],
): Deadline {
	const end = new AbortController();
	const timer = setTimeout(() => {
		const message = `${name} did not arrive within ${timeoutMs / 1000} s. Try again later.`;
		end.abort(new PagingError("timeout", message));
	}, timeoutMs);
	const onAbort = () => end.abort(new PagingError("aborted", `Reading ${name} was stopped.`));
	for (const signal of signals) {
		if (signal?.aborted) onAbort();
		signal?.addEventListener("abort", onAbort, { once: true });
	}
	return {
		signal: end.signal,
		race(work) {
			return new Promise((resolve, reject) => {
				const lose = () => reject(end.signal.reason);
				if (end.signal.aborted) lose();
				end.signal.addEventListener("abort", lose, { once: true });
				work.then(resolve, reject);
			});
		},
		stop() {
			clearTimeout(timer);
			for (const signal of signals) signal?.removeEventListener("abort", onAbort);
		},
	};
}
