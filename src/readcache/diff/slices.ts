import { AbortedError } from "../../core/aborted.ts";

/**
 * Long computations in short slices, so that the agent stays responsive and can be stopped.
 *
 * A computation is written as a plain generator that yields the work it has just done. It knows neither
 * clock nor event loop; `runInSlices` adds both, `runAtOnce` neither.
 */

/**
 * A computation that yields the units of work done since its last yield: every 50,000 units, or after each
 * pass over the lines. A unit is 2 to 5 ns in compiled code, ten times that in the first milliseconds.
 */
export type Steps<T> = Generator<number, T, void>;

// Units are what makes pauses reproducible; the clock covers code not yet compiled and busy machines.
const UNITS_PER_SLICE = 1_500_000;
const MS_PER_SLICE = 8;

/**
 * Runs the steps, giving the event loop a turn between slices of a few milliseconds.
 * Throws pi's "Operation aborted" once the signal is aborted.
 */
export async function runInSlices<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
	let units = 0;
	let unitsAtLook = 0;
	let start = performance.now();
	for (;;) {
		if (signal?.aborted) throw new AbortedError();
		const step = steps.next();
		if (step.done) return step.value;
		units += step.value;
		if (units - unitsAtLook < 20_000) continue;
		unitsAtLook = units;
		if (units < UNITS_PER_SLICE && performance.now() - start < MS_PER_SLICE) continue;
		await new Promise((resolve) => setImmediate(resolve));
		units = 0;
		unitsAtLook = 0;
		start = performance.now();
	}
}

/** Runs the steps to their end without a pause. */
export function runAtOnce<T>(steps: Steps<T>): T {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}
