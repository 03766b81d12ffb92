/** When to give up waiting. */
export interface WaitOptions {
	readonly signal?: AbortSignal | undefined;
	/** Default: forever. */
	readonly timeoutMs?: number;
	/** What to fail with when the signal fires, and when the time is over. */
	aborted(): Error;
	timedOut?(): Error;
}

/** The longest time that a timer of Node can have. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * What a promise gives, unless the signal or the time ends the wait first. What then becomes of the promise is not
 * looked at. While waiting, the timer keeps our process alive.
 */
export async function waitFor<Result>(
	promise: Promise<Result>,
	{ signal, timeoutMs, aborted, timedOut }: WaitOptions,
): Promise<Result> {
	promise.catch(() => {
		// It may fail when nobody waits for it any more.
	});
	if (signal?.aborted) throw aborted();
	const end = Promise.withResolvers<never>();
	const onAbort = () => end.reject(aborted());
	signal?.addEventListener("abort", onAbort, { once: true });
	const timer =
		timeoutMs !== undefined && timedOut
			? setTimeout(() => end.reject(timedOut()), Math.min(timeoutMs, MAX_TIMER_MS))
			: undefined;
	try {
		return await Promise.race([promise, end.promise]);
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", onAbort);
	}
}
