import { describe, expect, test } from "vitest";
import { TierController } from "../../src/tiers/index.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { fc } from "../support/property.ts";
import { item, standings } from "./items.ts";

/** `count` symbol entries; the first is the most referenced. */
function entries(count: number, tokens = 100) {
	return Array.from({ length: count }, (_, index) => ({
		...item(`symbol:file-${String(index).padStart(3, "0")}.ts`, tokens),
		refs: count - index,
	}));
}

/** How many items each tier got. */
function sizes(tracker: { items(): Map<string, { tier: string }> }): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const { tier } of tracker.items().values()) counts[tier] = (counts[tier] ?? 0) + 1;
	return counts;
}

describe("Initialization from References", () => {
	test("with threshold-aware mode: fill tiers top-down (L1 → L2 → L3) until each meets the token target", () => {
		const tracker = new TierTracker({ targetTokens: 1000 });
		tracker.seed({ refs: entries(25, 300), exclude: [] });
		// Four of 300 tokens are the fewest that meet 1000.
		expect(sizes(tracker)).toEqual({ L1: 4, L2: 4, L3: 17 });
	});

	test("most-referenced files go to L1, equally referenced ones in the order of their keys", () => {
		const refs = [
			{ ...item("symbol:rare.ts", 500), refs: 1 },
			{ ...item("symbol:b.ts", 500), refs: 7 },
			{ ...item("symbol:most.ts", 500), refs: 9 },
			{ ...item("symbol:a.ts", 500), refs: 7 },
		];
		const tracker = new TierTracker({ targetTokens: 1000 });
		tracker.seed({ refs, exclude: [] });
		expect(standings(tracker)).toEqual({
			"symbol:most.ts": "L1 9",
			"symbol:a.ts": "L1 9",
			"symbol:b.ts": "L2 6",
			"symbol:rare.ts": "L2 6",
		});
	});

	test("exactly the target meets it, and one item may go far beyond", () => {
		const refs = [
			{ ...item("exact", 1000), refs: 3 },
			{ ...item("huge", 90_000), refs: 2 },
			{ ...item("rest", 1), refs: 1 },
		];
		const tracker = new TierTracker({ targetTokens: 1000 });
		tracker.seed({ refs, exclude: [] });
		expect(standings(tracker)).toEqual({ exact: "L1 9", huge: "L2 6", rest: "L3 3" });
	});

	test("without threshold mode (legacy): top 20% by refs → L1, next 30% → L2, bottom 50% → L3", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		tracker.seed({ refs: entries(10), exclude: [] });
		expect(Object.values(standings(tracker))).toEqual([
			...["L1 9", "L1 9"],
			...["L2 6", "L2 6", "L2 6"],
			...["L3 3", "L3 3", "L3 3", "L3 3", "L3 3"],
		]);
	});

	test("shares that are no whole items are rounded down from the top", () => {
		for (const [count, expected] of [
			[0, {}],
			[1, { L3: 1 }],
			[2, { L2: 1, L3: 1 }],
			[4, { L2: 2, L3: 2 }],
			[5, { L1: 1, L2: 1, L3: 3 }],
			[99, { L1: 19, L2: 30, L3: 50 }],
		] as const) {
			const tracker = new TierTracker({ targetTokens: 0 });
			tracker.seed({ refs: entries(count), exclude: [] });
			expect(sizes(tracker)).toEqual(expected);
		}
	});

	test("L0 is never assigned heuristically, and N is the tier's entry N", () => {
		fc.assert(
			fc.property(fc.nat(60), fc.nat(3000), fc.nat(400), (count, targetTokens, tokens) => {
				const tracker = new TierTracker({ targetTokens });
				tracker.seed({ refs: entries(count, tokens), exclude: [] });
				expect(tracker.items().size).toBe(count);
				for (const standing of Object.values(standings(tracker))) {
					expect(["L1 9", "L2 6", "L3 3"]).toContain(standing);
				}
			}),
		);
	});

	test("files in active context are excluded from initialization, with their symbol entries", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		const refs = ["a.ts", "symbol:a.ts", "symbol:b.ts"].map((key) => ({ ...item(key), refs: 1 }));
		tracker.seed({ refs, exclude: ["a.ts"] });
		expect(standings(tracker)).toEqual({ "symbol:b.ts": "L3 3" });
	});

	test("a file that was seeded before is not in active context by that: its symbol entry is seeded as well", () => {
		const refs = ["a.ts", "symbol:a.ts"].map((key) => ({ ...item(key), refs: 1 }));
		const tracker = new TierTracker({ targetTokens: 0 });
		for (const entry of refs) tracker.seed({ refs: [entry], exclude: [] });
		expect(standings(tracker)).toEqual({ "a.ts": "L3 3", "symbol:a.ts": "L3 3" });
	});

	test("a file that is listed as active is in active context without being named", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		tracker.update({ active: [item("a.ts")] });
		tracker.seed({ refs: [{ ...item("symbol:a.ts"), refs: 1 }] });
		expect(standings(tracker)).toEqual({ "a.ts": "active 0" });
	});

	test("excluded files take nobody's place in the ranks", () => {
		const refs = entries(11);
		const tracker = new TierTracker({ targetTokens: 0 });
		tracker.seed({ refs, exclude: [refs[0]?.key ?? ""] });
		expect(sizes(tracker)).toEqual({ L1: 2, L2: 3, L3: 5 });
	});

	test("hashes are real: the first request with the same content demotes nothing", () => {
		const controller = new TierController({ cacheMinTokens: 100, cacheBufferMultiplier: 1 });
		const symbols = entries(3);
		controller.seed({ refs: symbols, exclude: [] });
		controller.next({ symbols });
		expect(Object.values(standings(controller))).toEqual(["L1 9", "L2 6", "L3 3"]);
		controller.next({ symbols: symbols.map((entry) => ({ ...entry, hash: "v2" })) });
		expect(Object.values(standings(controller))).toEqual(["active 0", "active 0", "active 0"]);
	});

	test("on first run only: what has stability data keeps them", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		tracker.update({ active: [item("symbol:a.ts")] });
		const refs = ["symbol:a.ts", "symbol:b.ts"].map((key) => ({ ...item(key), refs: 1 }));
		tracker.seed({ refs, exclude: [] });
		tracker.seed({ refs: refs.map((entry) => ({ ...entry, hash: "v2" })), exclude: [] });
		expect(standings(tracker)).toEqual({ "symbol:a.ts": "active 0", "symbol:b.ts": "L3 3" });
		expect(tracker.items().get("symbol:b.ts")?.hash).toBe("v1");
	});

	test("the order in which references are listed does not matter", () => {
		const refs = entries(30).map((entry, index) => ({ ...entry, refs: index % 4 }));
		const seeded = (list: typeof refs) => {
			const tracker = new TierTracker({ targetTokens: 700 });
			tracker.seed({ refs: list, exclude: ["file-003.ts"] });
			return tracker.toJSON();
		};
		fc.assert(
			fc.property(fc.shuffledSubarray(refs, { minLength: 30 }), (shuffled) => {
				expect(seeded(shuffled)).toEqual(seeded(refs));
			}),
		);
	});
});
