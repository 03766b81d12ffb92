import { describe, expect, test } from "vitest";
import { faultsIn, type History, type PlayedCommand } from "./history.ts";

const done: PlayedCommand = {
	principal: "ann",
	session: "s",
	id: "1",
	type: "bash",
	word: "w1",
	sentMs: 0,
	answeredMs: 100,
	isComplete: true,
	answers: [
		{ success: true, version: 1 },
		{ success: true, version: 1 },
	],
};
const later: PlayedCommand = {
	...done,
	id: "2",
	word: "w2",
	sentMs: 200,
	answeredMs: 300,
	answers: [{ success: true, version: 2 }],
};
const seen = { principal: "ann", session: "s", subscription: 1, seq: 1, body: "a" };
const good: History = {
	commands: [done, later],
	events: [seen, { ...seen, seq: 2, body: "b" }],
	effects: [
		{ word: "w1", atMs: 50 },
		{ word: "w2", atMs: 250 },
	],
	stored: new Map([
		["ann s 1", "a"],
		["ann s 2", "b"],
	]),
	conversations: new Map([["ann s", "w1 w2"]]),
};
const cut = { success: false, code: "interrupted" };

describe("the checker of histories", () => {
	test("finds nothing wrong with a good one", () => {
		expect(faultsIn(good)).toEqual([]);
		const interrupted = { ...later, isComplete: false, answers: [cut, cut] };
		expect(faultsIn({ ...good, commands: [done, interrupted] })).toEqual([]);
	});

	test.each<[string, string, Partial<History>]>([
		["two answers", "I1", { commands: [{ ...done, answers: [...done.answers, cut] }] }],
		["no outcome", "I10", { commands: [{ ...done, answers: [] }] }],
		["an effect twice", "I2", { effects: [...good.effects, { word: "w1", atMs: 60 }] }],
		["an acknowledged command without effect", "I2", { effects: [] }],
		[
			"a version twice",
			"I5",
			{ commands: [done, { ...later, answers: [{ success: true, version: 1 }] }] },
		],
		[
			"versions against time",
			"I5",
			{
				commands: [
					{ ...done, sentMs: 400 },
					{ ...later, answers: later.answers },
				],
			},
		],
		[
			"a late effect",
			"I6",
			{
				commands: [done, { ...later, isComplete: false, answers: [cut] }],
				effects: [
					{ word: "w1", atMs: 50 },
					{ word: "w2", atMs: 1_500 },
				],
			},
		],
		[
			"a tool that outlives its server",
			"I6",
			{
				effects: [
					{ word: "w1", atMs: 50 },
					{ word: "w2", atMs: 2_000, pid: 7 },
				],
				deaths: new Map([[7, 900]]),
			},
		],
		["an entry that is lost", "I9", { conversations: new Map([["ann s", "[]"]]) }],
		["a conversation that could not be read", "I10", { conversations: new Map() }],
		["an event that is not stored", "I4", { events: [seen], stored: new Map() }],
		["a number for two events", "I4", { events: [seen, { ...seen, subscription: 2, body: "x" }] }],
		["a hole", "I4", { events: [seen, { ...seen, seq: 3, body: "c" }] }],
		["an event twice", "I4", { events: [seen, seen] }],
	])("finds %s", (_what, fault, change) => {
		const faults = faultsIn({ ...good, ...change });
		expect(faults.map((text) => text.split(":")[0])).toContain(fault);
	});
});
