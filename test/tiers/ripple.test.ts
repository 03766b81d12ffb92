import { describe, expect, test } from "vitest";
import { type Tier, TierController } from "../../src/tiers/index.ts";
import type { TierState } from "../../src/tiers/state-file.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { item, items, standings, times } from "./items.ts";

/** A state with these items, given as `tier N tokens`; all of version v1. */
function stateWith(given: Record<string, [tier: Tier, n: number, tokens: number]>): TierState {
	const stored = Object.entries(given).map(([key, [tier, n, tokens]]) => [
		key,
		{ content_hash: "v1", n_value: n, tier, tokens },
	]);
	return { response_count: 0, last_active_items: [], items: Object.fromEntries(stored) };
}

/** Where everything stands after the items in active have left it. */
function afterEntry(targetTokens: number, given: Parameters<typeof stateWith>[0]) {
	const tracker = new TierTracker({ targetTokens, state: stateWith(given) });
	tracker.update({ active: [] });
	return standings(tracker);
}

describe("How It Works", () => {
	test("1. items entering a tier get that tier's entry_n value", () => {
		const after = afterEntry(0, {
			fresh: ["active", 7, 1],
			toL2: ["L3", 5, 1],
			toL1: ["L2", 8, 1],
			toL0: ["L1", 11, 1],
		});
		expect(after).toEqual({ fresh: "L3 3", toL2: "L2 6", toL1: "L1 9", toL0: "L0 12" });
	});

	test("2. veterans (items already in the tier) get N incremented by 1", () => {
		const after = afterEntry(0, {
			old: ["L3", 3, 1],
			older: ["L3", 4, 1],
			fresh: ["active", 3, 1],
		});
		expect(after).toEqual({ old: "L3 4", older: "L3 5", fresh: "L3 3" });
	});

	test("2. … once, however many items enter together", () => {
		const after = afterEntry(0, {
			old: ["L3", 3, 1],
			one: ["active", 3, 1],
			two: ["active", 3, 1],
			three: ["active", 4, 1],
		});
		expect(after.old).toBe("L3 4");
	});

	test("2. … only when something enters their tier: requests alone age nobody", () => {
		const controller = new TierController({ cacheMinTokens: 0 });
		times(50, () => controller.next({ files: items("a.ts", "b.ts") }));
		expect(standings(controller)).toEqual({ "a.ts": "L3 3", "b.ts": "L3 3" });
	});

	test("2. in the terminal tier too, where N has nothing left to reach", () => {
		const after = afterEntry(0, {
			core: ["L0", 12, 1],
			toL0: ["L1", 11, 1],
			toL1: ["L2", 8, 1],
			toL2: ["L3", 5, 1],
			fresh: ["active", 3, 1],
		});
		expect(after).toMatchObject({ core: "L0 13", toL0: "L0 12" });
	});

	test("3. if a veteran's N reaches the tier's promotion_threshold, it promotes to the next tier", () => {
		const after = afterEntry(0, {
			old: ["L3", 5, 1],
			young: ["L3", 4, 1],
			fresh: ["active", 3, 1],
		});
		expect(after).toEqual({ old: "L2 6", young: "L3 5", fresh: "L3 3" });
	});

	test("4. promoted items become entries for the next tier, potentially triggering further ripples", () => {
		const after = afterEntry(0, {
			inL2: ["L2", 7, 1],
			toL1: ["L2", 8, 1],
			inL1: ["L1", 9, 1],
			toL2: ["L3", 5, 1],
			fresh: ["active", 3, 1],
		});
		expect(after).toEqual({
			inL2: "L2 8",
			toL1: "L1 9",
			inL1: "L1 10",
			toL2: "L2 6",
			fresh: "L3 3",
		});
	});

	test("5. if no veterans promote, higher tiers remain unchanged (ripple stops)", () => {
		const after = afterEntry(0, {
			inL3: ["L3", 4, 1],
			inL2: ["L2", 8, 1],
			inL1: ["L1", 11, 1],
			fresh: ["active", 3, 1],
		});
		expect(after).toEqual({ inL3: "L3 5", inL2: "L2 8", inL1: "L1 11", fresh: "L3 3" });
	});
});

describe("Threshold-Aware Promotion", () => {
	test("1. tokens from entering items are accumulated first: enough of them, and every veteran ages", () => {
		const after = afterEntry(1000, {
			old: ["L3", 3, 100],
			one: ["active", 3, 600],
			two: ["active", 3, 400],
		});
		expect(after).toEqual({ old: "L3 4", one: "L3 3", two: "L3 3" });
	});

	test("2. veterans are sorted by N ascending (lowest first): the youngest anchor, the oldest move on", () => {
		const after = afterEntry(1000, {
			oldest: ["L3", 5, 500],
			middle: ["L3", 4, 500],
			youngest: ["L3", 3, 500],
			fresh: ["active", 3, 100],
		});
		expect(after).toEqual({
			oldest: "L2 6",
			middle: "L3 4",
			youngest: "L3 3",
			fresh: "L3 3",
		});
	});

	test("3. veterans below the token threshold anchor the tier (no N increment)", () => {
		const after = afterEntry(1000, { old: ["L3", 5, 500], fresh: ["active", 3, 100] });
		expect(after).toEqual({ old: "L3 5", fresh: "L3 3" });
	});

	test("3. the threshold is looked at before a veteran is added: one that crosses it still anchors", () => {
		const after = afterEntry(1000, {
			crossing: ["L3", 3, 5000],
			behind: ["L3", 4, 1],
			fresh: ["active", 3, 999],
		});
		expect(after).toEqual({ crossing: "L3 3", behind: "L3 5", fresh: "L3 3" });
	});

	test("4. veterans past the threshold get N++ and can promote", () => {
		const after = afterEntry(1000, {
			anchor: ["L3", 3, 900],
			ages: ["L3", 4, 1],
			promotes: ["L3", 5, 1],
			fresh: ["active", 3, 100],
		});
		expect(after).toEqual({ anchor: "L3 3", ages: "L3 5", promotes: "L2 6", fresh: "L3 3" });
	});

	test("ties are anchored in the order in which items were first seen, whatever their names", () => {
		const tracker = new TierTracker({ targetTokens: 1000 });
		const all = [item("z.ts", 600), item("a.ts", 600), item("fresh.ts", 500)];
		times(4, () => tracker.update({ active: all }));
		tracker.update({ active: [item("fresh.ts", 500)] });
		tracker.update({ active: [] });
		expect(standings(tracker)).toEqual({ "z.ts": "L3 3", "a.ts": "L3 4", "fresh.ts": "L3 3" });
	});

	test("every tier of a ripple is anchored on its own", () => {
		const after = afterEntry(1000, {
			"L2 anchor": ["L2", 6, 700],
			"L2 ages": ["L2", 8, 1],
			promotes: ["L3", 5, 300],
			fresh: ["active", 3, 1000],
		});
		expect(after).toEqual({
			"L2 anchor": "L2 6",
			"L2 ages": "L1 9",
			promotes: "L2 6",
			fresh: "L3 3",
		});
	});

	test("a tier keeps the target's tokens while veterans still progress to higher tiers", () => {
		const controller = new TierController({ cacheMinTokens: 1000, cacheBufferMultiplier: 1 });
		const files = [item("first.ts", 400)];
		times(60, (index) => {
			files.push(item(`file-${index}.ts`, 400));
			controller.next({ files });
			const inTier = (tier: Tier) =>
				[...controller.items().values()].filter((i) => i.tier === tier);
			const above = inTier("L2").length + inTier("L1").length + inTier("L0").length;
			const tokens = inTier("L3").reduce((sum, i) => sum + i.tokens, 0);
			if (above > 0) expect(tokens).toBeGreaterThanOrEqual(1000);
		});
		// Of equal N the first seen anchor, again and again: it is later files that climb.
		expect(standings(controller)["first.ts"]).toBe("L3 3");
		expect(new Set(Array.from(controller.items().values(), ({ tier }) => tier))).toEqual(
			new Set(["L0", "L1", "L2", "L3", "active"]),
		);
	});
});

describe("Ripple Detection", () => {
	/** A controller whose `h1` is eligible and far below the target: it graduates if and only if there is a ripple. */
	function waiting(symbols = items("symbol:other.ts")) {
		const controller = new TierController();
		const request = { files: items("a.ts", "b.ts"), symbols, history: items("h1") };
		controller.next({ ...request, history: [] });
		times(5, () => controller.next(request));
		expect(standings(controller)).toMatchObject({ "a.ts": "L3 3", h1: "active 4" });
		return {
			request,
			ripplesWith: (changes: Parameters<typeof controller.next>[0]) => {
				controller.next({ ...request, ...changes });
				return standings(controller).h1 === "L3 3";
			},
		};
	}

	test("no change is no ripple", () => {
		expect(waiting().ripplesWith({})).toBe(false);
	});

	test("adding a file fires", () => {
		expect(waiting().ripplesWith({ files: items("a.ts", "b.ts", "c.ts") })).toBe(true);
	});

	test("removing a file fires", () => {
		expect(waiting().ripplesWith({ files: items("a.ts") })).toBe(true);
	});

	test("swapping files fires", () => {
		expect(waiting().ripplesWith({ files: items("a.ts", "c.ts") })).toBe(true);
	});

	test("the order in which files are listed does not", () => {
		expect(waiting().ripplesWith({ files: items("b.ts", "a.ts") })).toBe(false);
	});

	test("files or symbols graduating out of active: file graduation itself counts as a ripple, allowing history to piggyback", () => {
		const controller = new TierController();
		const history = items("h1");
		times(2, () => controller.next({ history }));
		times(4, () => controller.next({ files: items("a.ts"), history }));
		// Selecting the file came before h1 was eligible, so nothing but the graduation takes it along.
		expect(standings(controller)).toEqual({ h1: "active 5", "a.ts": "active 3" });
		controller.next({ files: items("a.ts"), history });
		expect(standings(controller)).toEqual({ h1: "L3 3", "a.ts": "L3 3" });
	});

	test("the request after a graduation is no ripple again", () => {
		const controller = new TierController();
		const files = items("a.ts");
		times(2, () => controller.next({ files }));
		times(3, () => controller.next({ files, history: items("h1") }));
		expect(standings(controller)).toEqual({ "a.ts": "L3 3", h1: "active 2" });
		times(4, () => controller.next({ files, history: items("h1") }));
		expect(standings(controller).h1).toBe("active 6");
	});

	test("a symbol entry that leaves its cached tier because its file is gone fires", () => {
		expect(waiting().ripplesWith({ symbols: [] })).toBe(true);
	});

	test("a new symbol entry changes no cached block and does not fire", () => {
		expect(waiting().ripplesWith({ symbols: items("symbol:new.ts", "symbol:other.ts") })).toBe(
			false,
		);
	});
});
