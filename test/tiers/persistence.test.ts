import { describe, expect, test } from "vitest";
import { TierController } from "../../src/tiers/index.ts";
import { TierStateError } from "../../src/tiers/state-file.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { item, items, standings, times } from "./items.ts";

describe("Configuration", () => {
	test("the effective cache_target_tokens = cacheMinTokens × cacheBufferMultiplier", () => {
		const controller = new TierController({ cacheMinTokens: 300, cacheBufferMultiplier: 2 });
		times(5, () => controller.next({ history: [item("h1", 600)] }));
		expect(standings(controller).h1).toBe("active 4");
		controller.next({ history: [item("h1", 600), item("h2", 1)] });
		times(4, () => controller.next({ history: [item("h1", 600), item("h2", 1)] }));
		expect(standings(controller).h1).toBe("L3 3");
	});

	test("setting cacheMinTokens to 0 disables threshold-aware behavior: all promotions happen without token gating", () => {
		const [gated, free] = [{ cacheMinTokens: 10_000 }, { cacheMinTokens: 0 }].map((options) => {
			const controller = new TierController(options);
			times(12, (index) =>
				controller.next({ files: items(...[..."abcdefghijkl"].slice(0, index + 1)) }),
			);
			return standings(controller).a;
		});
		expect([gated, free]).toEqual(["L3 3", "L1 10"]);
	});

	test.each([
		{ cacheMinTokens: "5" },
		{ cacheMinTokens: Number.NaN },
		{ cacheMinTokens: -1 },
		{ cacheMinTokens: null },
		{ cacheBufferMultiplier: "2" },
		{ cacheBufferMultiplier: Number.POSITIVE_INFINITY },
		{ cacheBufferMultiplier: [2] },
	])("%j is refused", (options) => {
		const create = () => new TierController(options as { cacheMinTokens: number });
		expect(create).toThrow(
			/^cacheMinTokens \(.*\) and cacheBufferMultiplier \(.*\) must be numbers ≥ 0$/,
		);
	});

	test("the message shows that a number was given as a text", () => {
		const cacheMinTokens = "5" as unknown as number;
		expect(() => new TierController({ cacheMinTokens })).toThrow('cacheMinTokens ("5")');
	});

	test("… and history never graduates (stays active)", () => {
		const controller = new TierController({ cacheMinTokens: 0 });
		times(9, (index) =>
			controller.next({ files: items(`${index}.ts`), history: [item("h1", 99_999)] }),
		);
		expect(standings(controller).h1).toBe("active 8");
	});
});

describe("Persistence", () => {
	test("the file stores response_count: total responses tracked", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		expect(tracker.toJSON()).toEqual({ response_count: 0, last_active_items: [], items: {} });
		times(3, () => tracker.update({ active: [] }));
		expect(tracker.toJSON().response_count).toBe(3);
	});

	test("last_active_items: items in active on the last request", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: items("a.ts", "b.ts") }));
		expect(tracker.toJSON().last_active_items).toEqual(["a.ts", "b.ts"]);
		tracker.update({ active: items("b.ts", "c.ts") });
		expect(tracker.toJSON().last_active_items).toEqual(["b.ts", "c.ts"]);
	});

	test("items: map of item key → {content_hash, n_value, tier}, and the tokens", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: [item("a.ts", 7), item("b.ts", 9, "other")] }));
		tracker.update({ active: [item("b.ts", 9, "other")] });
		expect(tracker.toJSON()).toEqual({
			response_count: 5,
			last_active_items: ["b.ts"],
			items: {
				"a.ts": { content_hash: "v1", n_value: 3, tier: "L3", tokens: 7 },
				"b.ts": { content_hash: "other", n_value: 4, tier: "active", tokens: 9 },
			},
		});
	});

	test("data survives restarts: counting goes on where it stopped", () => {
		const before = new TierTracker({ targetTokens: 0 });
		times(3, () => before.update({ active: items("a.ts") }));
		const after = new TierTracker({ targetTokens: 0, state: before.toJSON() });
		after.update({ active: items("a.ts") });
		after.update({ active: [] });
		expect(standings(after)).toEqual({ "a.ts": "L3 3" });
		expect(after.toJSON().response_count).toBe(5);
	});

	test("on restart the first request with files selected detects a ripple (empty ≠ current files)", () => {
		const request = { files: items("a.ts"), history: items("h1") };
		const running = new TierController();
		running.next({ files: items("a.ts") });
		times(5, () => running.next(request));
		const state = running.toJSON();
		expect(state.last_active_items).toEqual(["h1"]);

		running.next(request);
		expect(standings(running)).toEqual({ "a.ts": "L3 3", h1: "active 5" });
		const restarted = new TierController({ state });
		restarted.next(request);
		expect(standings(restarted)).toEqual({ "a.ts": "L3 3", h1: "L3 3" });
	});

	test("… and so does one without files: the cache is cold, so the first request after a restart counts as a ripple", () => {
		const running = new TierController();
		times(5, () => running.next({ history: items("h1") }));
		const state = running.toJSON();
		running.next({ history: items("h1") });
		expect(standings(running)).toEqual({ h1: "active 5" });
		const restarted = new TierController({ state });
		restarted.next({ history: items("h1", "h2") });
		expect(standings(restarted)).toEqual({ h1: "L3 3", h2: "active 0" });
		times(4, () => restarted.next({ history: items("h1", "h2") }));
		expect(standings(restarted)).toEqual({ h1: "L3 3", h2: "active 4" });
	});

	test("… but with a target of 0 history stays active across a restart too", () => {
		const running = new TierController({ cacheMinTokens: 0 });
		times(5, () => running.next({ history: items("h1") }));
		const restarted = new TierController({ cacheMinTokens: 0, state: running.toJSON() });
		restarted.next({ files: items("a.ts"), history: items("h1") });
		expect(standings(restarted)).toEqual({ h1: "active 5", "a.ts": "active 0" });
	});

	test("items keep the order in which they were first seen, also under names that look like numbers", () => {
		const tracker = new TierTracker({ targetTokens: 1000 });
		const all = [item("z", 600), item("20", 600), item("3", 600), item("__proto__", 10)];
		times(4, () => tracker.update({ active: all }));
		const state = JSON.parse(JSON.stringify(tracker));
		expect(state.order).toEqual(["z", "20", "3", "__proto__"]);
		const restored = new TierTracker({ targetTokens: 1000, state });
		expect([...restored.items()]).toEqual([...tracker.items()]);
	});

	test("an order is stored only where names need it", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		tracker.update({ active: items("z.ts", "a.ts") });
		expect(tracker.toJSON()).not.toHaveProperty("order");
	});
});

describe("a state of another program", () => {
	const stored = (more: object) => ({
		response_count: 4,
		last_active_items: [],
		items: { "a.ts": { content_hash: "v1", n_value: 3, tier: "L3" as const, ...more } },
	});

	test("needs no tokens: they count as 0 until the next request says more", () => {
		const controller = new TierController({ state: stored({}) });
		expect(controller.items().get("a.ts")).toEqual({ tier: "L3", n: 3, hash: "v1", tokens: 0 });
		controller.next({ files: [item("a.ts", 80)] });
		expect(controller.items().get("a.ts")).toEqual({ tier: "L3", n: 3, hash: "v1", tokens: 80 });
	});

	test("has its N brought within what the tier allows, so that one entry does not promote everything", () => {
		for (const [tier, stored_n, n] of [
			["L3", 40, 5],
			["L3", 0, 3],
			["L2", 9, 8],
			["L1", 100, 11],
			["L0", 100, 100],
			["active", 7, 7],
		] as const) {
			const tracker = new TierTracker({
				targetTokens: 0,
				state: stored({ tier, n_value: stored_n }),
			});
			expect(tracker.items().get("a.ts")).toMatchObject({ tier, n });
		}
	});

	test("loses the items that the next request does not have", () => {
		const controller = new TierController({ state: stored({}) });
		controller.next({ files: items("b.ts") });
		expect(standings(controller)).toEqual({ "b.ts": "active 0" });
	});
});

describe("a damaged state is refused with what is wrong", () => {
	const good = new TierTracker({ targetTokens: 0 }).toJSON();
	const withItem = (more: object) => ({
		...good,
		items: { "secret\u009b.ts": { content_hash: "h", n_value: 0, tier: "active", ...more } },
	});

	test.each<[string, unknown, string]>([
		["null", null, "response_count"],
		["a text", "{}", "response_count"],
		["a list", [], "response_count"],
		["a count below zero", { ...good, response_count: -1 }, "response_count"],
		["no list of active items", { ...good, last_active_items: "a" }, "last_active_items"],
		["a list of numbers", { ...good, last_active_items: [1] }, "last_active_items"],
		["items as a list", { ...good, items: [] }, "items must be an object"],
		["an item that is null", { ...good, items: { a: null } }, "content_hash"],
		["a hash that is no text", withItem({ content_hash: 1 }), "content_hash"],
		["an N that is no number", withItem({ n_value: "3" }), "n_value"],
		["an N with a fraction", withItem({ n_value: 0.5 }), "n_value"],
		["an unknown tier", withItem({ tier: "L4" }), "a tier must be L0, L1, L2, L3 or active"],
		["a tier that objects know by themselves", withItem({ tier: "toString" }), "a tier must be"],
		["tokens below zero", withItem({ tokens: -1 }), "tokens"],
		["an order that is no list", { ...good, order: {} }, "order"],
		["an empty key", { ...good, items: { "": {} } }, "empty key"],
		[
			"too many items",
			{
				...good,
				items: Object.fromEntries(Array.from({ length: 50_001 }, (_, i) => [`f${i}`, {}])),
			},
			"more than 50000",
		],
	])("%s", (_name, state, what) => {
		const create = () => new TierTracker({ targetTokens: 0, state: state as typeof good });
		expect(create).toThrow(TierStateError);
		expect(create).toThrow(what);
		// Keys are a stranger's text, and messages end on a terminal.
		expect(create).not.toThrow("secret");
	});
});
