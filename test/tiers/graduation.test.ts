import { describe, expect, test } from "vitest";
import { TierController } from "../../src/tiers/index.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { item, items, standings, times } from "./items.ts";

describe("Graduation: Active → L3", () => {
	test("items don't auto-promote while in the active items list", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(30, () => tracker.update({ active: items("a.ts") }));
		expect(standings(tracker)).toEqual({ "a.ts": "active 29" });
	});

	test("they must leave the active list to graduate", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: items("a.ts", "b.ts") }));
		tracker.update({ active: items("b.ts") });
		expect(standings(tracker)).toEqual({ "a.ts": "L3 3", "b.ts": "active 4" });
	});

	test("what leaves the active list with N < 3 is forgotten, not kept as a ghost that fills a tier", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(3, () => tracker.update({ active: items("a.ts") }));
		tracker.update({ active: [] });
		expect(standings(tracker)).toEqual({});
	});

	test("an item of a tier that is listed unchanged stays there with its N", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(4, () => tracker.update({ active: items("a.ts") }));
		tracker.update({ active: [] });
		times(3, () => tracker.update({ active: items("a.ts") }));
		expect(standings(tracker)).toEqual({ "a.ts": "L3 3" });
	});
});

describe("Files and Symbols", () => {
	test("requests 1 to 4 of an unchanged file give N = 0 to 3, and request 5 shows it in L3", () => {
		const controller = new TierController();
		const seen: unknown[] = [];
		times(7, () => {
			controller.next({ files: items("a.ts") });
			seen.push(standings(controller)["a.ts"]);
		});
		expect(seen).toEqual(["active 0", "active 1", "active 2", "active 3", "L3 3", "L3 3", "L3 3"]);
	});

	test("files and symbol entries with N ≥ 3 are always graduated, whatever they weigh", () => {
		const controller = new TierController({ cacheMinTokens: 100_000 });
		times(5, () =>
			controller.next({ files: [item("a.ts", 1)], symbols: [item("symbol:b.ts", 1)] }),
		);
		expect(standings(controller)).toEqual({ "a.ts": "L3 3", "symbol:b.ts": "L3 3" });
	});

	test("they are excluded from the active items list on the next request", () => {
		const controller = new TierController();
		const active: unknown[] = [];
		times(5, () => {
			controller.next({ files: items("a.ts") });
			active.push(controller.toJSON().last_active_items);
		});
		expect(active).toEqual([["a.ts"], ["a.ts"], ["a.ts"], ["a.ts"], []]);
	});

	test("a file that changes just when it could graduate starts again", () => {
		const controller = new TierController();
		times(4, () => controller.next({ files: items("a.ts", "b.ts") }));
		controller.next({ files: [item("a.ts", 100, "v2"), item("b.ts")], modified: ["b.ts"] });
		expect(standings(controller)).toEqual({ "a.ts": "active 0", "b.ts": "active 0" });
	});

	test("when a file graduates, its symbol entry (prefixed symbol:) also graduates", () => {
		const controller = new TierController();
		times(5, () => controller.next({ files: items("a.ts"), symbols: items("symbol:a.ts") }));
		expect(standings(controller)).toEqual({ "a.ts": "L3 3", "symbol:a.ts": "L3 3" });
	});

	test("… independently: symbols and files are tracked separately", () => {
		const controller = new TierController();
		const symbols = items("symbol:a.ts");
		times(2, () => controller.next({ symbols }));
		times(3, () => controller.next({ files: items("a.ts"), symbols }));
		expect(standings(controller)).toEqual({ "a.ts": "active 2", "symbol:a.ts": "L3 3" });
	});

	test("a deselected file is removed, from active and from its tier alike", () => {
		const controller = new TierController();
		times(3, () => controller.next({ files: items("cached.ts") }));
		times(2, () => controller.next({ files: items("cached.ts", "young.ts") }));
		expect(standings(controller)).toEqual({ "cached.ts": "L3 3", "young.ts": "active 1" });
		controller.next({ files: [] });
		expect(standings(controller)).toEqual({});
	});

	test("a file deselected with N ≥ 3 does not enter L3", () => {
		const controller = new TierController();
		times(4, () => controller.next({ files: items("a.ts") }));
		controller.next({ files: [] });
		expect(standings(controller)).toEqual({});
	});

	test("the symbol entry of a deselected file returns to active with N = 0", () => {
		const controller = new TierController();
		const symbols = items("symbol:a.ts", "symbol:b.ts");
		times(5, () => controller.next({ files: items("a.ts"), symbols }));
		controller.next({ files: [], symbols });
		expect(standings(controller)).toEqual({ "symbol:b.ts": "L3 3", "symbol:a.ts": "active 0" });
	});
});

describe("History Messages", () => {
	/** A controller with a target of 1000 that has seen these messages often enough for them to graduate. */
	function afterWaiting(tokens: Record<string, number>, files = items("a.ts")) {
		const controller = new TierController({ cacheMinTokens: 1000, cacheBufferMultiplier: 1 });
		const history = Object.entries(tokens).map(([key, count]) => item(key, count));
		// The file graduates before the messages may, so its ripple does not take them along.
		controller.next({ files });
		times(4, () => controller.next({ files, history }));
		const graduated = () =>
			history.map(({ key }) => key).filter((key) => standings(controller)[key] === "L3 3");
		return { controller, history, files, graduated };
	}

	test("without ripple and below the threshold, eligible history stays", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 300, h2: 300 });
		times(5, () => controller.next({ files, history }));
		expect(graduated()).toEqual([]);
		expect(standings(controller)).toMatchObject({ h1: "active 8", h2: "active 8" });
	});

	test("1. piggybacking on an existing ripple (file selection changed): eligible history graduates for free", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 300, h2: 300 });
		controller.next({ files: [...files, item("b.ts")], history });
		expect(graduated()).toEqual(["h1", "h2"]);
	});

	test("1. piggybacking (file/symbol graduation happening)", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 300, h2: 300 });
		const symbols = items("symbol:new.ts");
		times(4, () => controller.next({ files, symbols, history }));
		expect(graduated()).toEqual([]);
		controller.next({ files, symbols, history });
		expect(graduated()).toEqual(["h1", "h2"]);
	});

	test("only eligible history piggybacks: messages with N < 3 stay", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 300 });
		times(3, () => controller.next({ files, history: [...history, item("h2")] }));
		controller.next({ files: [], history: [...history, item("h2")] });
		expect(graduated()).toEqual(["h1"]);
		expect(standings(controller).h2).toBe("active 3");
	});

	test("2. token threshold met: if total eligible history tokens exceed the target, the oldest eligible messages graduate", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 400, h2: 400, h3: 400 });
		controller.next({ files, history });
		expect(graduated()).toEqual(["h1"]);
	});

	test("2. exactly the target does not exceed it", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 400, h2: 600 });
		controller.next({ files, history });
		expect(graduated()).toEqual([]);
	});

	test("2. of the eligible messages the newest that fit the target stay, and all older ones go", () => {
		const { controller, history, files, graduated } = afterWaiting({
			h1: 10,
			h2: 900,
			h3: 600,
			h4: 400,
		});
		controller.next({ files, history });
		// h4 and h3 make 1000 and stay; h1 would fit nowhere before h2, which goes.
		expect(graduated()).toEqual(["h1", "h2"]);
	});

	test("2. a single message above the target does graduate", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 1001 });
		controller.next({ files, history });
		expect(graduated()).toEqual(["h1"]);
	});

	test("2. messages that are not eligible yet do not count", () => {
		const { controller, history, files, graduated } = afterWaiting({ h1: 900 });
		times(4, () => controller.next({ files, history: [...history, item("h2", 5000)] }));
		expect(graduated()).toEqual([]);
		controller.next({ files, history: [...history, item("h2", 5000)] });
		expect(standings(controller)).toMatchObject({ h1: "L3 3", h2: "L3 3" });
	});

	test("3. never (if cache_target_tokens = 0): history stays in active permanently", () => {
		for (const off of [{ cacheMinTokens: 0 }, { cacheBufferMultiplier: 0 }]) {
			const controller = new TierController(off);
			const history = [item("h1", 50_000)];
			times(8, (index) => controller.next({ files: items(`file-${index}.ts`), history }));
			expect(standings(controller).h1).toBe("active 7");
		}
	});

	test("cache_target_tokens is computed as cacheMinTokens × cacheBufferMultiplier (default: 1024 × 1.5 = 1536)", () => {
		for (const [tokens, expected] of [
			[1536, "active 4"],
			[1537, "L3 3"],
		] as const) {
			const controller = new TierController();
			times(5, () => controller.next({ history: [item("h1", tokens)] }));
			expect(standings(controller).h1).toBe(expected);
		}
	});

	test("a target with decimals is met by the tokens a person would compute", () => {
		// 100 × 1.1 is 110.00000000000001 to a computer.
		const controller = new TierController({ cacheMinTokens: 100, cacheBufferMultiplier: 1.1 });
		times(4, () => controller.next({ files: items("a.ts") }));
		times(4, () => controller.next({ files: [item("a.ts"), item("b.ts", 110)] }));
		controller.next({ files: [item("a.ts"), item("b.ts", 110)] });
		expect(standings(controller)).toEqual({ "a.ts": "L3 4", "b.ts": "L3 3" });
	});

	test("messages that are no longer in the conversation are forgotten, and no others are renamed", () => {
		const { controller, history, files } = afterWaiting({ h1: 2000, h2: 2000, h3: 10 });
		controller.next({ files, history });
		controller.next({ files, history: history.slice(1) });
		expect(standings(controller)).toEqual({ "a.ts": "L3 4", h2: "L3 3", h3: "active 5" });
	});
});
