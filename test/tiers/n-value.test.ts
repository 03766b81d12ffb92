import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { TIERS, TierController } from "../../src/tiers/index.ts";
import { CACHED_TIERS, historyHash } from "../../src/tiers/item.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { item, items, standings, times } from "./items.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("Overview", () => {
	test("content that remains unchanged across requests gradually promotes to higher cache tiers", () => {
		const controller = new TierController({ cacheMinTokens: 0 });
		const files = [item("stable.ts")];
		const seen = new Set<string>();
		times(20, (index) => {
			files.push(item(`new-${index}.ts`));
			controller.next({ files });
			seen.add(controller.items().get("stable.ts")?.tier ?? "none");
		});
		expect([...seen]).toEqual(["active", "L3", "L2", "L1", "L0"]);
	});

	test("content that changes demotes back to the uncached active tier", () => {
		const controller = new TierController();
		times(5, () => controller.next({ files: items("a.ts") }));
		expect(standings(controller)).toEqual({ "a.ts": "L3 3" });
		controller.next({ files: [item("a.ts", 100, "v2")] });
		expect(standings(controller)).toEqual({ "a.ts": "active 0" });
	});

	test("the system manages files, symbol map entries and history messages", () => {
		const controller = new TierController();
		controller.next({ files: items("a.ts"), symbols: items("symbol:b.ts"), history: items("h1") });
		expect(standings(controller)).toEqual({
			"a.ts": "active 0",
			"symbol:b.ts": "active 0",
			h1: "active 0",
		});
	});
});

describe("Tier Structure", () => {
	test("five tiers, from most stable (cached first) to least stable, with their entry and promotion N", () => {
		expect(Object.entries(TIERS)).toEqual([
			["L0", { entryN: 12, promotionN: Number.POSITIVE_INFINITY }],
			["L1", { entryN: 9, promotionN: 12 }],
			["L2", { entryN: 6, promotionN: 9 }],
			["L3", { entryN: 3, promotionN: 6 }],
			["active", { entryN: 0, promotionN: 3 }],
		]);
		expect(CACHED_TIERS).toEqual(["L0", "L1", "L2", "L3"]);
	});
});

describe("N Progression", () => {
	test("1. new item appears in active context: N = 0", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		tracker.update({ active: [item("a.ts", 40)] });
		expect(tracker.items().get("a.ts")).toEqual({ tier: "active", n: 0, hash: "v1", tokens: 40 });
	});

	test("2. item unchanged in active context: N increments by 1 each request", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		const seen: (number | undefined)[] = [];
		times(6, () => {
			tracker.update({ active: items("a.ts") });
			seen.push(tracker.items().get("a.ts")?.n);
		});
		expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
	});

	test("3. item content changes (hash mismatch): N resets to 0, demotes to active", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(3, () => tracker.update({ active: items("a.ts") }));
		tracker.update({ active: [item("a.ts", 70, "v2")] });
		expect(tracker.items().get("a.ts")).toEqual({ tier: "active", n: 0, hash: "v2", tokens: 70 });
	});

	test("3. item content changes (explicit modification): N resets to 0 though the hash is equal", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(3, () => tracker.update({ active: items("a.ts") }));
		tracker.update({ active: items("a.ts"), modified: ["a.ts"] });
		expect(standings(tracker)).toEqual({ "a.ts": "active 0" });
	});

	test("4. item reaches N ≥ 3: eligible for graduation from active to L3, and not before", () => {
		for (const [requests, expected] of [
			[3, {}],
			[4, { "a.ts": "L3 3" }],
			[9, { "a.ts": "L3 3" }],
		] as const) {
			const tracker = new TierTracker({ targetTokens: 0 });
			times(requests, () => tracker.update({ active: items("a.ts") }));
			tracker.update({ active: [] });
			expect(standings(tracker)).toEqual(expected);
		}
	});

	test("an item listed twice in one request is counted once", () => {
		const tracker = new TierTracker({ targetTokens: 0 });
		times(2, () => tracker.update({ active: [item("a.ts", 5), item("a.ts", 9, "v2")] }));
		expect(tracker.items().get("a.ts")).toEqual({ tier: "active", n: 1, hash: "v1", tokens: 5 });
	});
});

describe("Content Hashing", () => {
	test("files: SHA256 of file content", () => {
		expect(hashBytes("const a = 1;\n")).toBe(sha256("const a = 1;\n"));
		expect(hashBytes(Buffer.from("ä"))).toBe(sha256("ä"));
	});

	test("symbol entries: SHA256 of the compact symbol block", () => {
		expect(hashBytes("a.ts: f g")).toBe(sha256("a.ts: f g"));
	});

	test('history messages: SHA256 of the "role:content" string', () => {
		expect(historyHash("user", "hi")).toBe(sha256("user:hi"));
		expect(historyHash("assistant", "hi")).toBe(sha256("assistant:hi"));
	});

	test("when the hash changes between requests, N resets to 0 and the item returns to active, from every tier", () => {
		for (const tier of CACHED_TIERS) {
			const state = {
				response_count: 9,
				last_active_items: [],
				items: { "a.ts": { content_hash: "v1", n_value: TIERS[tier].entryN, tier, tokens: 1 } },
			};
			const controller = new TierController({ state });
			controller.next({ files: items("a.ts") });
			expect(controller.items().get("a.ts")?.tier).toBe(tier);
			controller.next({ files: [item("a.ts", 100, "v2")] });
			expect(standings(controller)).toEqual({ "a.ts": "active 0" });
		}
	});

	test("the hashes of symbols and history count too, in whatever tier they are", () => {
		const controller = new TierController({ cacheMinTokens: 1 });
		const request = { symbols: items("symbol:b.ts"), history: items("h1") };
		times(5, () => controller.next(request));
		expect(standings(controller)).toEqual({ "symbol:b.ts": "L3 3", h1: "L3 3" });
		controller.next({
			symbols: [item("symbol:b.ts", 100, "v2")],
			history: [item("h1", 100, "v2")],
		});
		expect(standings(controller)).toEqual({ "symbol:b.ts": "active 0", h1: "active 0" });
	});
});

describe("input that cannot be tracked is refused by name", () => {
	const tracker = () => new TierTracker({ targetTokens: 0 });

	test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])("tokens of %s", (tokens) => {
		const update = () => tracker().update({ active: [item("a.ts", tokens)] });
		expect(update).toThrow(`The tokens of "a.ts" must be a number ≥ 0, got ${tokens}`);
		const seeding = () => tracker().seed({ refs: [{ ...item("a.ts", tokens), refs: 1 }] });
		expect(seeding).toThrow(`The tokens of "a.ts"`);
	});

	test("an empty key, a missing hash, references and targets that are no numbers", () => {
		expect(() => tracker().update({ active: [item("")] })).toThrow("non-empty string");
		const noHash = { key: "a.ts", tokens: 1 } as ReturnType<typeof item>;
		expect(() => tracker().update({ active: [noHash] })).toThrow('The hash of "a.ts"');
		const refs = [{ ...item("a.ts"), refs: Number.NaN }];
		expect(() => tracker().seed({ refs })).toThrow('The refs of "a.ts"');
		expect(() => new TierTracker({ targetTokens: Number.NaN })).toThrow("targetTokens");
		expect(() => new TierController({ cacheMinTokens: -1 })).toThrow("cacheMinTokens (-1)");
	});

	test("a refused request leaves the tracker as it was", () => {
		const kept = tracker();
		kept.update({ active: items("a.ts") });
		const before = kept.toJSON();
		expect(() => kept.update({ active: [item("a.ts"), item("b.ts", -1)] })).toThrow();
		expect(kept.toJSON()).toEqual(before);
	});
});
