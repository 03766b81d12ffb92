/**
 * Long computations in short slices, so that the agent stays responsive and can be stopped.
 *
 * A computation is written as a plain generator that yields the work it has just done. It knows neither
 * clock nor event loop; `runInSlices` adds both, `runAtOnce` neither.
 */

/** A computation that yields units of work done since its last yield; one unit is about 2 ns. */
export type Steps<T> = Generator<number, T, void>;

// About 3 ms on a 2-core Linux machine. Steps yield at least every 2 M units, so a stretch stays below 10 ms.
const unitsPerSlice = 1_500_000;

/**
 * Runs the steps, giving the event loop a turn between slices.
 * Throws pi's "Operation aborted" once the signal is aborted.
 */
export async function runInSlices<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
	let units = 0;
	for (;;) {
		if (signal?.aborted) throw new Error("Operation aborted");
		const step = steps.next();
		if (step.done) return step.value;
		units += step.value;
		if (units < unitsPerSlice) continue;
		units = 0;
		await new Promise((resolve) => setImmediate(resolve));
	}
}

/** Runs the steps to their end without a pause. */
export function runAtOnce<T>(steps: Steps<T>): T {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}
