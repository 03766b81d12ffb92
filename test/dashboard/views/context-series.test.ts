import { expect, test } from "vitest";
import { contextSeries, downsampled } from "../../../src/dashboard/views/context/context-view.tsx";
import { fc } from "../../support/property.ts";

const moments = (sizes: readonly number[]) =>
	sizes.map((read, at) => ({ request: at + 1, atMs: at, byKind: { system: 10, read } }));

test("a series has a row for each kind that was ever there, and zeros where it was not", () => {
	const series = contextSeries([
		{ request: 4, atMs: 1, byKind: { conversation: 5, system: 10 } },
		{ request: 8, atMs: 2, byKind: { system: 10, read: 7, tool: 0 } },
	]);
	expect(series).toEqual({
		kinds: ["system", "read", "conversation"],
		requests: [4, 8],
		atMs: [1, 2],
		byKind: [
			[10, 10],
			[0, 7],
			[5, 0],
		],
	});
});

test("a short history is kept whole, an empty one stays empty", () => {
	expect(contextSeries(moments([1, 2, 3]), 3).atMs).toEqual([0, 1, 2]);
	expect(contextSeries([])).toEqual({ kinds: [], requests: [], atMs: [], byKind: [] });
});

test("thinning does not lose the last moments to rounding", () => {
	const totals = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
	const all = totals.map((tokens, at) => ({ request: at, atMs: at, byKind: { read: tokens } }));
	expect(downsampled(all, 8).map(({ byKind }) => byKind.read)).toContain(1);
});

test("thinning keeps both ends, the order and the peak, and obeys its bound", () => {
	fc.assert(
		fc.property(
			fc.array(fc.nat(1000), { minLength: 1, maxLength: 500 }),
			fc.integer({ min: 3, max: 60 }),
			(sizes, max) => {
				const all = moments(sizes);
				const kept = downsampled(all, max);
				expect(kept.length).toBeLessThanOrEqual(max);
				expect(kept[0]).toBe(all[0]);
				expect(kept.at(-1)).toBe(all.at(-1));
				const times = kept.map(({ atMs }) => atMs);
				expect(times).toEqual([...times].sort((a, b) => a - b));
				const peak = Math.max(...sizes);
				expect(Math.max(...kept.map(({ byKind }) => byKind.read ?? 0))).toBe(peak);
			},
		),
	);
});
