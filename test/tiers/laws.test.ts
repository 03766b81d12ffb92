import { expect, test } from "vitest";
import {
	assemble,
	type PromptItem,
	placeByTier,
	TIERS,
	TierController,
} from "../../src/tiers/index.ts";
import { CACHED_TIERS, type Item } from "../../src/tiers/item.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { fc } from "../support/property.ts";
import { type RandomRequest, randomSession } from "./arbitrary-requests.ts";
import { item, items, standings, times } from "./items.ts";

const minTokens = fc.constantFrom(0, 100, 1024);

/** The texts of a request, made from the hashes. */
function contentsOf({ files, symbols, history }: RandomRequest): PromptItem[] {
	const as = (kind: PromptItem["kind"]) => (given: Item) => ({
		key: given.key,
		kind,
		text: `${given.key} ${given.hash}`,
	});
	return [...files.map(as("file")), ...symbols.map(as("symbol")), ...history.map(as("history"))];
}

/** The bytes that are sent before anything uncached. */
function prefixOf(controller: TierController, request: RandomRequest): string {
	const messages = assemble({
		...placeByTier(controller.items(), contentsOf(request)),
		system: "System.",
		prompt: "Go on.",
	});
	return JSON.stringify(messages.filter(({ cached }) => cached));
}

test("an unchanged working set leaves the prefix bytes unchanged from request to request", () => {
	fc.assert(
		fc.property(randomSession, minTokens, (session, cacheMinTokens) => {
			const controller = new TierController({ cacheMinTokens });
			for (const request of session) controller.next(request);
			const still = { ...(session.at(-1) as RandomRequest), modified: [] };
			// Everything that still has a way to go arrives: new files after four requests, history by then too.
			times(8, () => controller.next(still));
			const prefix = prefixOf(controller, still);
			times(6, () => {
				controller.next({ ...still, files: still.files.toReversed() });
				expect(prefixOf(controller, still)).toBe(prefix);
			});
		}),
	);
});

test("every piece of content is sent exactly once, the entries of selected files not at all", () => {
	fc.assert(
		fc.property(randomSession, minTokens, (session, cacheMinTokens) => {
			const controller = new TierController({ cacheMinTokens });
			for (const request of session) {
				controller.next(request);
				const contents = contentsOf(request);
				const laid = placeByTier(controller.items(), contents);
				const sent = [
					...CACHED_TIERS.flatMap((tier) => laid.tiers[tier]),
					...laid.activeFiles,
					...laid.activeHistory,
				].map(({ key }) => key);
				const selected = new Set(request.files.map(({ key }) => `symbol:${key}`));
				const expected = contents.map(({ key }) => key).filter((key) => !selected.has(key));
				expect(sent.toSorted()).toEqual(expected.toSorted());
			}
		}),
	);
});

test("N never exceeds the requests an item has stayed unchanged, nor what its tier allows", () => {
	const reached = new Set<string>();
	fc.assert(
		fc.property(randomSession, minTokens, (session, cacheMinTokens) => {
			const controller = new TierController({ cacheMinTokens });
			let ages = new Map<string, { age: number; hash: string }>();
			const faults: unknown[] = [];
			for (const request of session) {
				controller.next(request);
				const working = new Set([...request.files, ...request.symbols].map(({ key }) => key));
				const given = [...request.files, ...request.symbols, ...request.history];
				ages = new Map(
					given.map(({ key, hash }) => {
						const before = ages.get(key);
						return [key, { hash, age: before?.hash === hash ? before.age + 1 : 0 }];
					}),
				);
				for (const [key, { tier, n }] of controller.items()) {
					const isAllowed =
						n >= TIERS[tier].entryN &&
						n <= (ages.get(key)?.age ?? -1) &&
						(tier === "active"
							? n <= TIERS.active.promotionN || !working.has(key)
							: n < TIERS[tier].promotionN && (working.has(key) || cacheMinTokens > 0));
					if (!isAllowed) faults.push({ key, tier, n, age: ages.get(key)?.age });
					reached.add(tier);
				}
			}
			expect(faults).toEqual([]);
		}),
	);
	expect([...reached].toSorted()).toEqual(["L0", "L1", "L2", "L3", "active"]);
});

test("an item climbs one tier in a request at most, and falls to active only", () => {
	const order = ["active", "L3", "L2", "L1", "L0"];
	fc.assert(
		fc.property(randomSession, minTokens, (session, cacheMinTokens) => {
			const controller = new TierController({ cacheMinTokens });
			const steps = new Set<string>();
			for (const request of session) {
				const before = controller.items();
				controller.next(request);
				for (const [key, { tier }] of controller.items()) {
					const from = order.indexOf(before.get(key)?.tier ?? "active");
					const to = order.indexOf(tier);
					steps.add(to === 0 ? "to active" : `${to - from} up`);
				}
			}
			expect(["to active", "0 up", "1 up"]).toEqual(expect.arrayContaining([...steps]));
		}),
	);
});

test("save and load change nothing: a tracker restored from its JSON continues identically", () => {
	const update = fc.record({
		active: fc.uniqueArray(
			fc.record({
				key: fc.constantFrom("a", "b", "symbol:a", "10", "2", "__proto__", "c"),
				hash: fc.constantFrom("v1", "v1", "v1", "v1", "v1", "v1", "v2"),
				tokens: fc.constantFrom(0, 300, 700),
			}),
			{ selector: ({ key }) => key },
		),
		modified: fc.oneof(
			{ weight: 5, arbitrary: fc.constant([]) },
			{ weight: 1, arbitrary: fc.constant(["a"]) },
		),
		repeated: fc.integer({ min: 1, max: 5 }),
	});
	fc.assert(
		fc.property(
			fc.array(update, { minLength: 4, maxLength: 25, size: "max" }),
			fc.nat(20),
			fc.constantFrom(0, 1000),
			(updates, cut, targetTokens) => {
				const kept = new TierTracker({ targetTokens });
				let restored = new TierTracker({ targetTokens });
				for (const [index, { repeated, ...request }] of updates.entries()) {
					times(repeated, () => {
						kept.update(request);
						restored.update(request);
					});
					if (index >= cut) {
						const state = JSON.parse(JSON.stringify(restored));
						restored = new TierTracker({ targetTokens, state });
					}
				}
				expect(JSON.stringify(restored)).toBe(JSON.stringify(kept));
			},
		),
	);
});

test("save and load change nothing of a controller but its ripple set", () => {
	fc.assert(
		fc.property(randomSession, fc.nat(50), (session, cut) => {
			const kept = new TierController();
			let restored = new TierController();
			for (const [index, request] of session.entries()) {
				if (index === cut) {
					restored = new TierController({ state: JSON.parse(JSON.stringify(restored)) });
				}
				// Without history nothing hangs on the ripple set.
				kept.next({ ...request, history: [] });
				restored.next({ ...request, history: [] });
			}
			expect(JSON.stringify(restored)).toBe(JSON.stringify(kept));
		}),
	);
});

test("the order in which files, symbols and edits are listed does not matter", () => {
	const shuffled = fc.tuple(randomSession, minTokens, fc.infiniteStream(fc.nat(1000)));
	fc.assert(
		fc.property(shuffled, ([session, cacheMinTokens, random]) => {
			const mix = <T>(list: readonly T[]): T[] =>
				list
					.map((value) => ({ value, rank: Number(random.next().value) }))
					.sort((a, b) => a.rank - b.rank)
					.map(({ value }) => value);
			const straight = new TierController({ cacheMinTokens });
			const mixed = new TierController({ cacheMinTokens });
			for (const request of session) {
				straight.next(request);
				mixed.next({
					...request,
					files: mix(request.files),
					symbols: mix(request.symbols),
					modified: mix(request.modified),
				});
			}
			expect(JSON.stringify(mixed)).toBe(JSON.stringify(straight));
		}),
	);
});

test("without a target the order of a tracker's active list does not matter either", () => {
	const keys = fc.subarray(["a", "b", "c", "d", "e"]);
	fc.assert(
		fc.property(fc.array(keys, { minLength: 8, maxLength: 40, size: "max" }), (lists) => {
			const straight = new TierTracker({ targetTokens: 0 });
			const reversed = new TierTracker({ targetTokens: 0 });
			for (const list of lists) {
				times(4, () => straight.update({ active: items(...list) }));
				times(4, () => reversed.update({ active: items(...list.toReversed()) }));
			}
			expect(standings(reversed)).toEqual(standings(straight));
		}),
	);
});

test("what a tracker hands out is a copy: changing it changes nothing", () => {
	const tracker = new TierTracker({ targetTokens: 0 });
	tracker.update({ active: [item("a.ts")] });
	Object.assign(tracker.items().get("a.ts") ?? {}, { n: 99 });
	tracker.items().clear();
	expect(standings(tracker)).toEqual({ "a.ts": "active 0" });
});
