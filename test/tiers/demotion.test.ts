import { describe, expect, test } from "vitest";
import { TierController } from "../../src/tiers/index.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { item, items, standings, times } from "./items.ts";

describe("Symbol Map Exclusion", () => {
	test("the symbol entry of a selected file weighs nothing while it is excluded", () => {
		const controller = new TierController();
		const symbols = [item("symbol:a.ts", 70), item("symbol:b.ts", 80)];
		controller.next({ files: items("a.ts"), symbols });
		const tokens = () =>
			Object.fromEntries(Array.from(controller.items(), ([key, { tokens }]) => [key, tokens]));
		expect(tokens()).toEqual({ "a.ts": 100, "symbol:a.ts": 0, "symbol:b.ts": 80 });
		controller.next({ files: [], symbols });
		expect(tokens()).toEqual({ "symbol:a.ts": 70, "symbol:b.ts": 80 });
	});

	test("it weighs nothing in a cached tier either, so it cannot anchor one", () => {
		const controller = new TierController({ cacheMinTokens: 1000, cacheBufferMultiplier: 1 });
		const symbols = [item("symbol:a.ts", 5000)];
		times(5, () => controller.next({ symbols }));
		expect(controller.items().get("symbol:a.ts")).toMatchObject({ tier: "L3", tokens: 5000 });
		const files = [item("a.ts", 1)];
		controller.next({ files, symbols });
		expect(controller.items().get("symbol:a.ts")).toMatchObject({ tier: "L3", n: 3, tokens: 0 });
	});

	test("a file added to context, whose symbol entry disappears from its cached tier, is a ripple for piggybacking", () => {
		const controller = new TierController();
		const symbols = items("symbol:a.ts");
		controller.next({ symbols });
		times(5, () => controller.next({ symbols, history: items("h1") }));
		expect(standings(controller)).toEqual({ "symbol:a.ts": "L3 3", h1: "active 4" });
		controller.next({ files: items("a.ts"), symbols, history: items("h1") });
		expect(standings(controller).h1).toBe("L3 3");
	});
});

describe("Demotion", () => {
	function withCachedFile() {
		const controller = new TierController();
		const request = {
			files: items("a.ts", "b.ts"),
			symbols: items("symbol:a.ts", "symbol:c.ts"),
		};
		times(5, () => controller.next(request));
		const cached = {
			"a.ts": "L3 3",
			"b.ts": "L3 3",
			"symbol:a.ts": "L3 3",
			"symbol:c.ts": "L3 3",
		};
		expect(standings(controller)).toEqual(cached);
		return { controller, request, cached };
	}

	test("1. content changes: the hash of the item's content differs from the stored hash", () => {
		const { controller, request, cached } = withCachedFile();
		controller.next({ ...request, files: [item("a.ts", 120, "v2"), item("b.ts")] });
		expect(standings(controller)).toEqual({ ...cached, "a.ts": "active 0" });
		expect(controller.items().get("a.ts")).toMatchObject({ hash: "v2", tokens: 120 });
	});

	test("2. explicit modification: the item appears in the files_modified list", () => {
		const { controller, request, cached } = withCachedFile();
		controller.next({ ...request, modified: ["b.ts"] });
		expect(standings(controller)).toEqual({ ...cached, "b.ts": "active 0" });
	});

	test("3. symbol invalidation: when a file is modified, both the file and its symbol: entry are marked as modified", () => {
		const { controller, request, cached } = withCachedFile();
		controller.next({ ...request, modified: ["a.ts"] });
		expect(standings(controller)).toEqual({
			...cached,
			"a.ts": "active 0",
			"symbol:a.ts": "active 0",
		});
	});

	test("3. also of a file that is in the map only", () => {
		const { controller, request, cached } = withCachedFile();
		controller.next({ ...request, modified: ["c.ts", "nobody-knows.ts"] });
		expect(standings(controller)).toEqual({ ...cached, "symbol:c.ts": "active 0" });
	});

	test("a tracker demotes what was modified also when nobody lists it", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: items("a.ts", "symbol:a.ts", "b.ts") }));
		tracker.update({ active: [] });
		tracker.update({ active: [], modified: ["a.ts"] });
		expect(standings(tracker)).toEqual({
			"a.ts": "active 0",
			"symbol:a.ts": "active 0",
			"b.ts": "L3 3",
		});
		expect(tracker.toJSON().last_active_items).toEqual(["a.ts", "symbol:a.ts"]);
	});

	test("what is modified and leaves the active list at once has N = 0 by then, and does not graduate", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: items("a.ts", "symbol:a.ts", "b.ts") }));
		tracker.update({ active: [], modified: ["a.ts"] });
		expect(standings(tracker)).toEqual({ "b.ts": "L3 3" });
	});

	test("demotion constitutes a ripple: history piggybacks on it", () => {
		const { controller, request } = withCachedFile();
		const history = items("h1");
		times(5, () => controller.next({ ...request, history }));
		expect(standings(controller).h1).toBe("active 4");
		controller.next({ ...request, history, modified: ["b.ts"] });
		expect(standings(controller).h1).toBe("L3 3");
	});

	test("a change of what is active already is none: no cached block changes", () => {
		const { controller, request } = withCachedFile();
		const history = items("h1");
		controller.next({ ...request, history, modified: ["b.ts"] });
		times(4, () => controller.next({ ...request, history, modified: ["b.ts"] }));
		controller.next({ ...request, history, modified: ["b.ts"] });
		expect(standings(controller)).toMatchObject({ h1: "active 5", "b.ts": "active 0" });
	});

	test("demotion ages nobody and fills no gap: the others keep tier and N", () => {
		const tracker = new TierTracker({
			targetTokens: 0,
			state: {
				response_count: 1,
				last_active_items: [],
				items: {
					l0: { content_hash: "v1", n_value: 12, tier: "L0", tokens: 5 },
					l1: { content_hash: "v1", n_value: 11, tier: "L1", tokens: 5 },
					l2: { content_hash: "v1", n_value: 8, tier: "L2", tokens: 5 },
					l3: { content_hash: "v1", n_value: 5, tier: "L3", tokens: 5 },
				},
			},
		});
		tracker.update({ active: [item("l1", 5, "v2")] });
		expect(standings(tracker)).toEqual({ l0: "L0 12", l1: "active 0", l2: "L2 8", l3: "L3 5" });
	});

	test("removal ages nobody and fills no gap either", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: items("a.ts", "b.ts") }));
		tracker.update({ active: [] });
		tracker.remove(["a.ts", "unknown.ts"]);
		expect(standings(tracker)).toEqual({ "b.ts": "L3 3" });
	});

	test("in one request things are demoted and removed before others enter: a leaver neither anchors nor ages", () => {
		const controller = new TierController({ cacheMinTokens: 1000, cacheBufferMultiplier: 1 });
		const cached = [item("changes.ts", 900), item("leaves.ts", 900), item("stays.ts", 50)];
		times(1, () => controller.next({ files: cached }));
		times(4, () => controller.next({ files: [...cached, item("fresh.ts", 10)] }));
		// Now fresh.ts enters. With the other two gone, 60 tokens are left in L3: stays.ts must anchor.
		controller.next({
			files: [item("changes.ts", 900, "v2"), item("stays.ts", 50), item("fresh.ts", 10)],
		});
		expect(standings(controller)).toEqual({
			"changes.ts": "active 0",
			"stays.ts": "L3 3",
			"fresh.ts": "L3 3",
		});
	});
});
