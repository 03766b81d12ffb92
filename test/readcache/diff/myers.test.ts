import { describe, expect, test } from "vitest";
import { matchLines } from "../../../src/readcache/diff/myers.ts";
import { runAtOnce } from "../../../src/readcache/diff/slices.ts";
import { fc, runs } from "../../support/property.ts";

function match(base: number[], current: number[], budget = Number.POSITIVE_INFINITY) {
	const pairs: [number, number][] = [];
	const keep = (x: number, y: number) => pairs.push([x, y]);
	const lines = { base: base.map(String), current: current.map(String) };
	runAtOnce(matchLines(lines, { left: budget }, keep));
	return pairs.sort((one, other) => one[0] - other[0]);
}

/** The textbook table, row by row. */
function commonLength(base: number[], current: number[]): number {
	let above = new Array<number>(current.length + 1).fill(0);
	for (const line of base) {
		const row = [0];
		for (const [i, other] of current.entries()) {
			const best = Math.max(above[i + 1] as number, row[i] as number);
			row.push(line === other ? (above[i] as number) + 1 : best);
		}
		above = row;
	}
	return above[current.length] as number;
}

function expectCommonSubsequence(base: number[], current: number[], pairs: [number, number][]) {
	for (const [i, [x, y]] of pairs.entries()) {
		expect(base[x]).toBe(current[y]);
		const next = pairs[i + 1];
		if (next) expect(next[0] > x && next[1] > y).toBe(true);
	}
}

const sequence = fc
	.integer({ min: 1, max: 8 })
	.chain((letters) => fc.array(fc.nat(letters), { maxLength: 60 }));

describe("matching lines without anchors", () => {
	test("the matched lines are a longest common subsequence", () => {
		fc.assert(
			fc.property(sequence, sequence, (base, current) => {
				const pairs = match(base, current);
				expectCommonSubsequence(base, current, pairs);
				expect(pairs.length).toBe(commonLength(base, current));
			}),
			{ numRuns: runs(1000) },
		);
	});

	test("texts too different for an exact answer still get a common subsequence close to it", {
		tags: "slow",
	}, () => {
		// Two letters by different rules: 1,250 edits, past the ceiling of a single search.
		const base = Array.from({ length: 3000 }, (_, i) => (i * i * 7 + (i >> 3)) % 2);
		const current = Array.from({ length: 3000 }, (_, i) => ((i * 5 + (i >> 2) * (i >> 4)) % 3) % 2);
		const pairs = match(base, current);
		expectCommonSubsequence(base, current, pairs);
		expect(pairs.length).toBeGreaterThan(0.9 * commonLength(base, current));
	});

	test("without budget fewer lines are matched, never wrong ones", () => {
		fc.assert(
			fc.property(sequence, sequence, fc.nat(400), (base, current, budget) => {
				expectCommonSubsequence(base, current, match(base, current, budget));
			}),
		);
		expect(match([1, 2, 3], [1, 2, 3], 0)).toEqual([]);
	});
});
