import { AbortedError } from "../../core/aborted.ts";

/** Computations run in short slices, so that the agent stays responsive and can abort. */

/** Yields the units of work done: at most 50,000, or one pass over the lines. A unit is 2 to 5 ns. */
export type Steps<T> = Generator<number, T, void>;

// Units make pauses reproducible. The clock is needed for uncompiled code and busy machines.
const UNITS_PER_SLICE = 1_500_000;
const MS_PER_SLICE = 8;

/** Yields to the event loop every few ms. Throws pi's "Operation aborted" on abort. */
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

export function runAtOnce<T>(steps: Steps<T>): T {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}
