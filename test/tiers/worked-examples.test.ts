import { describe, expect, test } from "vitest";
import { TierController } from "../../src/tiers/index.ts";
import type { Item } from "../../src/tiers/item.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { item, standings, times } from "./items.ts";

/**
 * Whole runs, worked out with pencil and paper from the rules alone. A row is a request, a column an item; `·` says that
 * the item is not tracked, a number alone is the N of an active item.
 */
function expectTable(
	tracked: Parameters<typeof standings>[0],
	columns: readonly string[],
	rows: readonly (readonly [step: () => void, row: string])[],
): void {
	const seen = rows.map(([step]) => {
		step();
		const now = standings(tracked);
		expect(Object.keys(now).filter((key) => !columns.includes(key))).toEqual([]);
		return columns.map((key) => (now[key] ?? "·").replace("active ", "").replace(" ", ":"));
	});
	expect(seen).toEqual(rows.map(([, row]) => row.trim().split(/\s+/)));
}

test("a file selected with every request: without a target each entry carries all the others on", () => {
	// A file is active for four requests, then every later file that enters L3 behind it raises its N by one:
	// 3 4 5 in L3, 6 7 8 in L2, 9 10 11 in L1, 12 and on in L0, since a promotion is an entry to the tier above.
	const controller = new TierController({ cacheMinTokens: 0 });
	const selected: Item[] = [];
	const add = (key: string) => () => {
		selected.push(item(key));
		controller.next({ files: selected });
	};
	const columns = [..."abcdefghijklmnop"];
	const rows = [
		"0     ·     ·     ·     ·     ·     ·    ·    ·    ·    ·    · · · · ·",
		"1     0     ·     ·     ·     ·     ·    ·    ·    ·    ·    · · · · ·",
		"2     1     0     ·     ·     ·     ·    ·    ·    ·    ·    · · · · ·",
		"3     2     1     0     ·     ·     ·    ·    ·    ·    ·    · · · · ·",
		"L3:3  3     2     1     0     ·     ·    ·    ·    ·    ·    · · · · ·",
		"L3:4  L3:3  3     2     1     0     ·    ·    ·    ·    ·    · · · · ·",
		"L3:5  L3:4  L3:3  3     2     1     0    ·    ·    ·    ·    · · · · ·",
		"L2:6  L3:5  L3:4  L3:3  3     2     1    0    ·    ·    ·    · · · · ·",
		"L2:7  L2:6  L3:5  L3:4  L3:3  3     2    1    0    ·    ·    · · · · ·",
		"L2:8  L2:7  L2:6  L3:5  L3:4  L3:3  3    2    1    0    ·    · · · · ·",
		"L1:9  L2:8  L2:7  L2:6  L3:5  L3:4  L3:3 3    2    1    0    · · · · ·",
		"L1:10 L1:9  L2:8  L2:7  L2:6  L3:5  L3:4 L3:3 3    2    1    0 · · · ·",
		"L1:11 L1:10 L1:9  L2:8  L2:7  L2:6  L3:5 L3:4 L3:3 3    2    1 0 · · ·",
		"L0:12 L1:11 L1:10 L1:9  L2:8  L2:7  L2:6 L3:5 L3:4 L3:3 3    2 1 0 · ·",
		"L0:13 L0:12 L1:11 L1:10 L1:9  L2:8  L2:7 L2:6 L3:5 L3:4 L3:3 3 2 1 0 ·",
		"L0:14 L0:13 L0:12 L1:11 L1:10 L1:9  L2:8 L2:7 L2:6 L3:5 L3:4 L3:3 3 2 1 0",
	];
	expectTable(
		controller,
		columns,
		rows.map((row, index) => [add(columns[index] ?? ""), row] as const),
	);
});

test("items leave active one by one with a target of 1000: entrants and young veterans fill the block first", () => {
	const all = [
		item("a", 400),
		item("b", 400),
		item("c", 400),
		item("d", 600),
		item("e", 1000),
		item("f", 300),
		item("g", 500),
		item("h", 1200),
	];
	const tracker = new TierTracker({ targetTokens: 1000 });
	times(3, () => tracker.update({ active: all }));
	const without = (left: number) => () => tracker.update({ active: all.slice(left) });
	expectTable(
		tracker,
		[..."abcdefgh"],
		[
			//          a     b     c     d     e     f     g    h
			[without(0), "3    3    3    3    3    3    3    3"],
			// a enters an empty tier.
			[without(1), "L3:3 4    4    4    4    4    4    4"],
			// b brings 400; a fills to 800.
			[without(2), "L3:3 L3:3 5    5    5    5    5    5"],
			// c brings 400; a fills to 800, b to 1200.
			[without(3), "L3:3 L3:3 L3:3 6    6    6    6    6"],
			// d brings 600; a fills to 1000, which is enough: b and c age.
			[without(4), "L3:3 L3:4 L3:4 L3:3 7    7    7    7"],
			// e brings 1000 by itself: all age.
			[without(5), "L3:4 L3:5 L3:5 L3:4 L3:3 8    8    8"],
			// f brings 300; e (N 3) fills to 1300: a, d, b, c age. b and c reach 6 and enter L2, which is empty.
			[without(6), "L3:5 L2:6 L2:6 L3:5 L3:3 L3:3 9    9"],
			// g brings 500; e fills to 1500: f, a, d age. a and d reach 6 and bring 1000 to L2, where b and c age.
			[without(7), "L2:6 L2:7 L2:7 L2:6 L3:3 L3:4 L3:3 10"],
			// h brings 1200: e, f, g age, none reaches 6, so L2 does not hear of it.
			[without(8), "L2:6 L2:7 L2:7 L2:6 L3:4 L3:5 L3:4 L3:3"],
			// Nothing enters any more, and nothing moves.
			[without(8), "L2:6 L2:7 L2:7 L2:6 L3:4 L3:5 L3:4 L3:3"],
		],
	);
});

describe("a conversation about one file, with a target of 1000", () => {
	const tokens: Record<string, number> = {
		...{ u1: 200, r1: 300, u2: 100, r2: 400, u3: 50, r3: 700, u4: 100, r4: 100, u5: 10, r5: 20 },
	};
	const talk = (pairs: number) =>
		Object.entries(tokens)
			.slice(0, 2 * pairs)
			.map(([key, count]) => item(key, count));
	const file = (version = "v1") => [item("a", 600, version)];
	const map = (version = "v1") => [item("symbol:a", 50, version), item("symbol:b", 80)];

	test("goes through both ways of history graduation, a demotion and a deselection", () => {
		const controller = new TierController({ cacheMinTokens: 1000, cacheBufferMultiplier: 1 });
		const ask = (pairs: number) => () =>
			controller.next({ files: file(), symbols: map(), history: talk(pairs) });
		expectTable(
			controller,
			["a", "symbol:a", "symbol:b", ...Object.keys(tokens)],
			[
				//       a    s:a  s:b  u1   r1   u2   r2   u3   r3   u4   r4   u5   r5
				[ask(0), "0    0    0    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·"],
				[ask(1), "1    1    1    0    0    ·    ·    ·    ·    ·    ·    ·    ·"],
				[ask(2), "2    2    2    1    1    0    0    ·    ·    ·    ·    ·    ·"],
				[ask(3), "3    3    3    2    2    1    1    0    0    ·    ·    ·    ·"],
				// File and symbols graduate, a ripple; but no message has waited for long enough.
				[ask(4), "L3:3 L3:3 L3:3 3    3    2    2    1    1    0    0    ·    ·"],
				// u1 and r1 may go: 500 tokens, not more than 1000, so they wait.
				[ask(5), "L3:3 L3:3 L3:3 4    4    3    3    2    2    1    1    0    0"],
				// So may u2 and r2: 1000 together, which is not more than 1000 either.
				[ask(5), "L3:3 L3:3 L3:3 5    5    4    4    3    3    2    2    1    1"],
				// And u3, r3: 1750. r3 and u3 (750) stay, r2 does not fit (1150); it and all before it go, bringing
				// 1000 tokens to L3, so its veterans age.
				[ask(5), "L3:4 L3:4 L3:4 L3:3 L3:3 L3:3 L3:3 4    4    3    3    2    2"],
				// The file is edited: it and its entry start again. The messages that may go piggyback, with 950 tokens;
				// u1 fills to 1150, so r1, u2, r2 and symbol:b age.
				[
					() =>
						controller.next({
							files: file("v2"),
							symbols: map("v2"),
							history: talk(5),
							modified: ["a"],
						}),
					"0    0    L3:5 L3:3 L3:4 L3:4 L3:4 L3:3 L3:3 L3:3 L3:3 3    3",
				],
				// The file is dropped: its entry returns as new. u5 and r5 piggyback, with 30 tokens. By N, u1 fills to 230,
				// u3 to 280, r3 to 980, u4 to 1080; r4 ages to 4; r1, u2, r2 to 5; symbol:b to 6 and enters L2.
				[
					() => controller.next({ files: [], symbols: map("v2"), history: talk(5) }),
					"·    0    L2:6 L3:3 L3:5 L3:5 L3:5 L3:3 L3:3 L3:3 L3:4 L3:3 L3:3",
				],
				// Nothing changes any more: only the entry grows older.
				[
					() => controller.next({ files: [], symbols: map("v2"), history: talk(5) }),
					"·    1    L2:6 L3:3 L3:5 L3:5 L3:5 L3:3 L3:3 L3:3 L3:4 L3:3 L3:3",
				],
			],
		);
	});
});

test("a seeded map with a target of 200: a file is opened, graduates and is closed", () => {
	const symbols = [
		item("symbol:a", 150),
		item("symbol:b", 100),
		item("symbol:c", 120),
		item("symbol:d", 90),
	];
	const refs = symbols.map((entry, index) => ({ ...entry, refs: 10 - index }));
	const controller = new TierController({ cacheMinTokens: 200, cacheBufferMultiplier: 1 });
	const open = () => controller.next({ files: [item("b", 250)], symbols });
	const closed = () => controller.next({ files: [], symbols });
	expectTable(
		controller,
		["symbol:a", "symbol:b", "symbol:c", "symbol:d", "b"],
		[
			// L1 takes a and b (250 ≥ 200), L2 c and d (210 ≥ 200), and nothing is left for L3.
			[() => controller.seed({ refs, exclude: [] }), "L1:9 L1:9 L2:6 L2:6 ·"],
			[closed, "L1:9 L1:9 L2:6 L2:6 ·"],
			// The entry of b stays where it is, but is not sent and weighs nothing.
			[open, "L1:9 L1:9 L2:6 L2:6 0"],
			[open, "L1:9 L1:9 L2:6 L2:6 1"],
			[open, "L1:9 L1:9 L2:6 L2:6 2"],
			[open, "L1:9 L1:9 L2:6 L2:6 3"],
			// b enters L3, where nobody is: the ripple ends there.
			[open, "L1:9 L1:9 L2:6 L2:6 L3:3"],
			[closed, "L1:9 0    L2:6 L2:6 ·"],
			[closed, "L1:9 1    L2:6 L2:6 ·"],
			[closed, "L1:9 2    L2:6 L2:6 ·"],
			[closed, "L1:9 3    L2:6 L2:6 ·"],
			[closed, "L1:9 L3:3 L2:6 L2:6 ·"],
		],
	);
	expect(controller.items().get("symbol:b")).toEqual({
		tier: "L3",
		n: 3,
		hash: "v1",
		tokens: 100,
	});
});
