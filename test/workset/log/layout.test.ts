import { describe, expect, test } from "vitest";
import {
	LogLayout,
	type LogMoment,
	type LogPlan,
	planOf,
} from "../../../src/workset/log/layout.ts";
import { file, momentWith, slot, snapshot } from "./moment.ts";

describe("where files are put", () => {
	test("nothing is done without a working set", () => {
		expect(planFor({})).toMatchObject({ ...NOTHING, deadTokens: 0 });
		expect(planFor({ cold: true })).toMatchObject({ ...NOTHING, deadTokens: 0 });
	});

	test("the first files make the slot, the most stable first, ties by name", () => {
		const files = [
			file("c@1", { tier: "L3", n: 3 }),
			file("b@1"),
			file("a@1"),
			file("d@1", { tier: "L3", n: 5 }),
			file("e@1", { tier: "L0", n: 12 }),
		];
		const plan = planFor({ files });
		expect(plan).toMatchObject({ why: "first", append: [], tail: [], drop: [] });
		expect(plan.slot).toEqual({ paths: ["e", "d", "c", "a", "b"] });
	});

	test("a changed file and a new one are appended, and the slot stays as it is", () => {
		const plan = planFor({
			files: [file("a@1"), file("b@2"), file("c@1")],
			copies: [slot(["a@1", "b@1"], 400_000)],
		});
		expect(plan).toMatchObject({ append: ["b", "c"], tail: [], drop: [], deadTokens: 1000 });
		expect(plan.slot).toBeUndefined();
	});

	test("a file that is as the last copy of it says is not sent again", () => {
		const copies = [slot(["a@1"], 400_000), snapshot("a@2", 300_000)];
		expect(planFor({ files: [file("a@2")], copies }).append).toEqual([]);
		expect(planFor({ files: [file("a@1")], copies }).append).toEqual(["a"]);
	});

	test("what was dropped from the working set leaves a dead copy", () => {
		const plan = planFor({ files: [file("a@1")], copies: [slot(["a@1", "b@1"], 400_000)] });
		expect(plan).toMatchObject({ append: [], drop: [], deadTokens: 1000 });
	});

	test("a file that changes with every request moves to the tail, and back when it has come to rest", () => {
		const layout = new LogLayout();
		const copies = [slot(["a@0", "b@1"], 400_000)];
		const ask = (version: number) =>
			layout.decide(momentWith({ files: [file(`a@${version}`), file("b@1")], copies }));
		const plans = Array.from({ length: 10 }, (_, version) => ask(version));
		expect(plans[1]).toMatchObject({ append: ["a"], tail: [] });
		expect(plans.at(-1)).toMatchObject({ append: [], tail: ["a"] });
		const calm = Array.from({ length: 40 }, () => ask(9));
		expect(calm[0]).toMatchObject({ append: [], tail: ["a"] });
		expect(calm.at(-1)).toMatchObject({ append: ["a"], tail: [] });
	});

	test("in a session that always finds the cache cold, no file is written to it", () => {
		const layout = new LogLayout();
		const moment = momentWith({ files: [file("a@1")], cold: true });
		const plans = Array.from({ length: 12 }, () => layout.decide(moment));
		expect(plans[0]).toMatchObject({ slot: { paths: ["a"] }, tail: [] });
		expect(plans.at(-1)).toMatchObject({ tail: ["a"] });
	});

	test("without a slot in view, as after a compaction, what is not in view makes a new one", () => {
		const plan = planFor({
			files: [file("a@1"), file("b@1"), file("c@1")],
			copies: [snapshot("b@1", 2000)],
		});
		expect(plan).toMatchObject({ slot: { paths: ["a", "c"] }, append: [], drop: [], why: "first" });
	});
});

describe("reorganising", () => {
	test("while the cache is cold, all is gathered in the slot by stability and nothing dead is left", () => {
		const files = [file("a@2"), file("b@1", { tier: "L2", n: 6 }), file("c@1")];
		const copies = [slot(["a@1", "b@1", "d@1"]), snapshot("a@2", 9000), snapshot("c@1", 500)];
		expect(planFor({ files, copies, cold: true })).toEqual({
			slot: { entryId: "slot", paths: ["b", "a", "c"] },
			drop: ["of a@2", "of c@1"],
			append: [],
			tail: [],
			why: "cold",
			deadTokens: 0,
			threshold: 0,
		});
	});

	test("a slot that is right is left alone even while the cache is cold", () => {
		const files = [file("a@1"), file("b@1")];
		const plan = planFor({ files, copies: [slot(["a@1", "b@1"])], cold: true });
		expect(plan).toMatchObject(NOTHING);
		expect(plan.slot).toBeUndefined();
	});

	test("a new order alone is no reason while the cache is warm", () => {
		const files = [file("a@1"), file("b@1", { tier: "L0", n: 12 })];
		const copies = [slot(["a@1", "b@1"])];
		expect(planFor({ files, copies }).slot).toBeUndefined();
		expect(planFor({ files, copies, cold: true }).slot?.paths).toEqual(["b", "a"]);
	});

	test("the slot goes when no file is left, but not while that would cost something", () => {
		const copies = [slot(["a@1"], 400_000), snapshot("b@1", 300_000)];
		expect(planFor({ copies })).toMatchObject({ drop: [], deadTokens: 2000, why: "waits" });
		expect(planFor({ copies, cold: true })).toMatchObject({
			drop: ["of b@1", "slot"],
			why: "cold",
		});
	});

	test("dead snapshots with little behind them go; what is dead far back waits", () => {
		const files = [file("a@4"), file("b@1"), file("c@2")];
		const copies = [
			slot(["b@1", "a@1"], 200_000),
			snapshot("c@1", 150_000),
			snapshot("a@2", 2500),
			snapshot("a@3", 1400),
			snapshot("c@2", 200),
			snapshot("a@4", 100),
		];
		const plan = planFor({ files, copies });
		expect(plan).toMatchObject({ drop: ["of a@2", "of a@3"], append: [], why: "pays" });
		expect(plan.slot).toBeUndefined();
		expect(plan.deadTokens).toBe(2000);
		expect(plan.frontier).toEqual({ entryId: "of a@2" });
	});

	test("when it pays to refill the slot, what stands before the first dead file in it stays", () => {
		const files = [file("z@1"), file("b@2"), file("a@1", { tier: "L0", n: 12 })];
		const copies = [slot(["z@1", "b@1", "a@1"], 1200), snapshot("b@2", 100)];
		const plan = planFor({ files, copies });
		expect(plan).toMatchObject({ why: "pays", drop: ["of b@2"], append: [], deadTokens: 0 });
		expect(plan.slot).toEqual({ entryId: "slot", paths: ["z", "a", "b"] });
		expect(plan.frontier).toEqual({ entryId: "slot", path: "b" });
	});

	test("while it waits, the frontier names the copy where it will begin", () => {
		const files = [file("a@1"), file("b@2")];
		const copies = [slot(["a@1", "b@1"], 500_000), snapshot("b@2", 100)];
		const plan = planFor({ files, copies });
		expect(plan).toMatchObject({ why: "waits", drop: [] });
		expect(plan.frontier).toEqual({ entryId: "slot", path: "b" });
	});

	test("near the limit everything dead goes, but not for a few tokens", () => {
		const files = [file("a@2")];
		const near = { files, contextTokens: 180_000, contextWindow: 200_000 };
		const large = { ...slot([], 150_000), files: [file("a@1", { tokens: 10_000 })] };
		const plan = planFor({ ...near, copies: [large, snapshot("a@2", 100)] });
		expect(plan).toMatchObject({ why: "near-limit", slot: { paths: ["a"] }, drop: ["of a@2"] });
		const few = planFor({ ...near, copies: [slot(["a@1"], 150_000), snapshot("a@2", 100)] });
		expect(few).toMatchObject({ why: "waits", drop: [] });
	});

	test("where nothing is cached, copies in the session are worth nothing and all goes to the tail", () => {
		const rules = { ...momentWith({}).rules, readRatio: 1, writeRatio: 1, writeOneHourRatio: 1 };
		const copies = [slot(["a@1"], 100_000), snapshot("a@2", 90_000)];
		const plan = planFor({ files: [file("a@2")], copies, rules });
		expect(plan).toMatchObject({ tail: ["a"], drop: ["of a@2", "slot"], deadTokens: 0 });
	});

	test("a message with several files goes when none of them is live, and else only into the slot", () => {
		const several = { ...snapshot("x@1", 500), files: [file("x@1"), file("y@1")] };
		const none = planFor({ files: [file("a@1")], copies: [slot(["a@1"], 400_000), several] });
		expect(none).toMatchObject({ drop: ["of x@1"], deadTokens: 0 });
		const files = [file("a@1"), file("y@1")];
		const one = planFor({ files, copies: [slot(["a@1"], 3000), several] });
		expect(one).toMatchObject({ drop: ["of x@1"], slot: { paths: ["a", "y"] }, deadTokens: 0 });
	});

	test("a copy counts again when the later ones go and the file is what it was", () => {
		const copies = [slot(["b@1", "a@1"], 200_000), snapshot("a@2", 300)];
		const plan = planFor({ files: [file("a@1"), file("b@1")], copies });
		expect(plan).toMatchObject({ drop: ["of a@2"], append: [], tail: [], deadTokens: 0 });
	});

	test("of two slots in view the last one is filled, and the other goes", () => {
		const old = { ...slot(["a@1", "b@1"], 9000), entryId: "old" };
		const plan = planFor({
			files: [file("a@1"), file("b@2")],
			copies: [old, slot(["b@2"], 100)],
			cold: true,
		});
		expect(plan).toMatchObject({ slot: { entryId: "slot", paths: ["a", "b"] }, drop: ["old"] });
	});
});

const NOTHING = { append: [], drop: [], tail: [], why: "nothing" };

/** In a calm session, in which a copy dies now and then. */
function planFor(part: Partial<LogMoment>): LogPlan {
	return planOf(momentWith(part), {
		editRate: () => 0.05,
		warmShare: 0.99,
		growthPerRequest: 10,
	});
}
