import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../../src/server/limits.ts";
import { createKeptAnswers } from "../../../src/server/sessions/kept-answers.ts";

const basis = (facts: unknown[] = [], list: unknown[] = []) => ({ facts, list });

describe("kept answers", () => {
	test("are made once while what they are made of is the very same", () => {
		const kept = createKeptAnswers();
		const session = {};
		const entry = { id: "e" };
		let made = 0;
		const ask = (facts: unknown[], list: unknown[]) =>
			kept.answer(session, "read", basis(facts, list), () => ({ made: ++made })).written.json;
		expect(ask([1, Number.NaN], [entry])).toBe('{"made":1}');
		expect(ask([1, Number.NaN], [entry])).toBe('{"made":1}');
		expect(ask([2, Number.NaN], [entry])).toBe('{"made":2}');
		expect(ask([2, Number.NaN], [{ id: "e" }])).toBe('{"made":3}');
		expect(ask([2, Number.NaN], [entry, entry])).toBe('{"made":4}');
		expect(ask([2], [entry, entry])).toBe('{"made":5}');
	});

	test("notice what is added to a list that is the same array", () => {
		const kept = createKeptAnswers();
		const session = {};
		const list = [1];
		const ask = () => kept.answer(session, "read", basis([], list), () => [...list]).written.json;
		expect(ask()).toBe("[1]");
		list.push(2);
		expect(ask()).toBe("[1,2]");
	});

	test("belong to one session and one name", () => {
		const kept = createKeptAnswers();
		const [one, other] = [{}, {}];
		const ask = (of: object, name: string, data: string) =>
			kept.answer(of, name, basis(), () => data).data;
		expect([ask(one, "a", "1"), ask(one, "b", "2"), ask(other, "a", "3")]).toEqual(["1", "2", "3"]);
		expect([ask(one, "a", "x"), ask(one, "b", "x"), ask(other, "a", "x")]).toEqual(["1", "2", "3"]);
		kept.forget(one);
		expect([ask(one, "a", "4"), ask(other, "a", "x")]).toEqual(["4", "3"]);
	});

	test("take no more than they may: those that were used longest ago go, and one that is too large is not kept", () => {
		const kept = createKeptAnswers(800);
		const session = {};
		let made = 0;
		const ask = (name: string, length: number) =>
			kept.answer(session, name, basis(), () => `${++made}${"x".repeat(length)}`).written.json;
		const [a] = [ask("a", 100), ask("b", 100)];
		expect(ask("a", 100)).toBe(a);
		ask("c", 100); // b goes
		expect(kept.bytes).toBeLessThanOrEqual(800);
		expect(made).toBe(3);
		expect(ask("a", 100)).toBe(a);
		ask("b", 100);
		expect(made).toBe(4);
		ask("large", 5_000);
		ask("large", 5_000);
		expect(made).toBe(6);
		kept.forget(session);
		expect(kept.bytes).toBe(0);
	});

	test("may be as large as an answer may be", () => {
		const kept = createKeptAnswers();
		const session = {};
		const data = "x".repeat(defaultLimits.maxAnswerBytes - 1_000);
		const { written } = kept.answer(session, "a", basis(), () => data);
		expect(kept.answer(session, "a", basis(), () => data).written).toBe(written);
	});

	test("are few for a session, whatever names are made up", () => {
		const kept = createKeptAnswers();
		const session = {};
		for (let n = 0; n < 1_000; n++) kept.answer(session, `name ${n}`, basis(), () => "x");
		const one = createKeptAnswers();
		one.answer(session, "name 0", basis(), () => "x");
		expect(kept.bytes).toBeLessThan(one.bytes * 20);
	});

	test("that cannot be made, or written, leave nothing behind", () => {
		const kept = createKeptAnswers();
		const session = {};
		const fail = () => {
			throw new Error("not there");
		};
		expect(() => kept.answer(session, "read", basis(), fail)).toThrow("not there");
		expect(() => kept.answer(session, "read", basis(), () => 1n)).toThrow(/BigInt/);
		expect(kept.answer(session, "read", basis(), () => 2).data).toBe(2);
		expect(kept.bytes).toBeGreaterThan(0);
	});
});
