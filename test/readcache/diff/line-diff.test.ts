import { describe, expect, test } from "vitest";
import { diffInterned } from "../../../src/readcache/diff/line-diff.ts";
import { type Change, internLines, leastChangedLength } from "../../../src/readcache/diff/lines.ts";
import { runAtOnce, runInSlices, type Steps } from "../../../src/readcache/diff/slices.ts";
import { fc, runs } from "../../support/property.ts";
import { arbitraryLines } from "./arbitrary-text.ts";

interface Options {
	signal?: AbortSignal;
	budget?: number;
}

function diffLines(base: string[], current: string[], { signal, budget }: Options = {}) {
	function* steps(): Steps<Change[]> {
		return yield* diffInterned(yield* internLines({ base, current }), budget);
	}
	return runInSlices(steps(), signal);
}

/** Rebuilds the current lines; fails unless changes are in order, apart, and all other lines equal. */
function replay(base: string[], current: string[], changes: Change[]): string[] {
	const rebuilt: string[] = [];
	let at = 0;
	for (const [i, change] of changes.entries()) {
		expect(change.baseCount + change.currentCount).toBeGreaterThan(0);
		if (i > 0) expect(change.baseStart).toBeGreaterThan(at);
		rebuilt.push(...base.slice(at, change.baseStart));
		expect(rebuilt.length).toBe(change.currentStart);
		const added = current.slice(change.currentStart, change.currentStart + change.currentCount);
		rebuilt.push(...added);
		at = change.baseStart + change.baseCount;
	}
	return [...rebuilt, ...base.slice(at)];
}

function editsOf(changes: Change[]): number {
	return changes.reduce((sum, change) => sum + change.baseCount + change.currentCount, 0);
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`);

describe("the changed lines of two texts", () => {
	test("replacing them turns the base into the current text, whatever the lines", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryLines(), arbitraryLines(), async (base, current) => {
				expect(replay(base, current, await diffLines(base, current))).toEqual(current);
			}),
			{ numRuns: runs(500) },
		);
	});

	test("a small budget makes them more, never wrong", async () => {
		await fc.assert(
			fc.asyncProperty(
				arbitraryLines(),
				arbitraryLines(),
				fc.nat(3000),
				async (base, current, n) => {
					const changes = await diffLines(base, current, { budget: n });
					expect(replay(base, current, changes)).toEqual(current);
				},
			),
		);
		const [base, current] = [
			["a", "same", "b"],
			["x", "same", "y"],
		];
		expect(await diffLines(base, current, { budget: 0 })).toEqual([
			{ baseStart: 0, baseCount: 3, currentStart: 0, currentCount: 3 },
		]);
	});

	test("equal texts have none", async () => {
		expect(await diffLines([], [])).toEqual([]);
		expect(await diffLines(["a", "b"], ["a", "b"])).toEqual([]);
	});

	test("only the edited lines count among thousands of equal ones", async () => {
		const base = numbered(5000);
		const current = base.toSpliced(4000, 1).toSpliced(2500, 0, "new").with(10, "other");
		expect(await diffLines(base, current)).toEqual([
			{ baseStart: 10, baseCount: 1, currentStart: 10, currentCount: 1 },
			{ baseStart: 2500, baseCount: 0, currentStart: 2500, currentCount: 1 },
			{ baseStart: 4000, baseCount: 1, currentStart: 4001, currentCount: 0 },
		]);
	});

	test("a function put between two like it is found as one insertion", async () => {
		const member = (name: string) => [`function ${name}() {`, "\treturn 1;", "}", ""];
		const base = [...member("first"), ...member("last")];
		const current = [...member("first"), ...member("middle"), ...member("last")];
		const changes = await diffLines(base, current);
		expect(changes).toHaveLength(1);
		expect(editsOf(changes)).toBe(4);
	});

	test("a moved block is removed once and added once", async () => {
		const base = numbered(3000);
		const current = [...base.slice(1000), ...base.slice(0, 1000)];
		expect(editsOf(await diffLines(base, current))).toBe(2000);
	});

	test("lines repeated on both sides are matched although none is unique", async () => {
		const base = Array.from({ length: 2000 }, (_, i) => `line ${i % 500}`);
		const current = base.toSpliced(700, 2, "new");
		expect(editsOf(await diffLines(base, current))).toBe(3);
	});
});

describe("inputs made to be slow", () => {
	const letters = (seed: number) =>
		Array.from({ length: 12_000 }, (_, i) =>
			((i + seed) * 2_654_435_761) % 4_294_967_296 > 2 ** 31 ? "a" : "b",
		);
	const outOfOrder = (lines: string[]) =>
		lines.map((_, i) => lines[(i * 7919) % lines.length] as string);
	const fourTimes = Array.from({ length: 200_000 }, (_, i) => `line ${i % 50_000}`);
	// Each line occurs twice until the anchor between its two places has been found.
	const nested = (noise: string) =>
		Array.from({ length: 3000 }, (_, i) => 3000 - i).flatMap((n) => [
			`level ${n}`,
			`${noise} ${n}`,
			`level ${n + 1}`,
			`${noise} again ${n}`,
		]);
	test.each([
		["every line re-indented", numbered(12_000), numbered(12_000).map((line) => `\t${line}`)],
		["a reversed file", numbered(12_000), numbered(12_000).toReversed()],
		["two letters", letters(1), letters(77)],
		["no unique line, all out of order", fourTimes, outOfOrder(fourTimes)],
		["anchors nested line by line", nested("x"), nested("y")],
		["equal lines of different number", Array(200_000).fill("same"), Array(150_001).fill("same")],
	])("are answered: %s", { tags: "slow" }, async (_, base: string[], current: string[]) => {
		const changes = await diffLines(base, current);
		// Compared as a whole: a matcher on each of 200,000 lines would be the slow part.
		const rebuilt: string[] = [];
		let at = 0;
		for (const { baseStart, baseCount, currentStart, currentCount } of changes) {
			for (; at < baseStart; at++) rebuilt.push(base[at] as string);
			for (let i = 0; i < currentCount; i++) rebuilt.push(current[currentStart + i] as string);
			at = baseStart + baseCount;
		}
		for (; at < base.length; at++) rebuilt.push(base[at] as string);
		expect(rebuilt.join("\n") === current.join("\n")).toBe(true);
	});

	test("the event loop gets turns meanwhile", async () => {
		let turns = 0;
		let running = true;
		const turn = () => {
			turns++;
			if (running) setImmediate(turn);
		};
		setImmediate(turn);
		await diffLines(fourTimes, outOfOrder(fourTimes));
		running = false;
		expect(turns).toBeGreaterThan(5);
	});

	test("an abort half-way ends the work", async () => {
		const controller = new AbortController();
		setImmediate(() => setImmediate(() => controller.abort()));
		const diff = diffLines(fourTimes, outOfOrder(fourTimes), { signal: controller.signal });
		await expect(diff).rejects.toThrow(/^Operation aborted$/);
	});
});

describe("the least that must change", () => {
	test("is never more than what the diff changes", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryLines(), arbitraryLines(), async (base, current) => {
				let length = 0;
				for (const change of await diffLines(base, current)) {
					const { baseStart, currentStart } = change;
					const removed = base.slice(baseStart, baseStart + change.baseCount);
					const added = current.slice(currentStart, currentStart + change.currentCount);
					for (const line of [...removed, ...added]) length += line.length + 2;
				}
				const interned = runAtOnce(internLines({ base, current }));
				const least = runAtOnce(leastChangedLength(interned, 2));
				expect(least).toBeLessThanOrEqual(length);
			}),
		);
	});

	test("is everything when no line is left", () => {
		const [base, current] = [["a", "b"], ["cc"]];
		const interned = runAtOnce(internLines({ base, current }));
		expect(runAtOnce(leastChangedLength(interned, 2))).toBe(3 + 3 + 4);
	});
});
