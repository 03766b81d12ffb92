import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/server/limits.ts";
import { AnswerCache } from "../../../src/server/sessions/answer-cache.ts";

const inputs = (values: unknown[] = [], list: unknown[] = []) => ({ values, list });

describe("cached answers", () => {
	test("are made once while what they are made of is the very same", () => {
		const cache = new AnswerCache();
		const session = {};
		const entry = { id: "e" };
		let made = 0;
		const ask = (values: unknown[], list: unknown[]) =>
			cache.answer(session, "read", inputs(values, list), () => ({ made: ++made })).written.json;
		expect(ask([1, Number.NaN], [entry])).toBe('{"made":1}');
		expect(ask([1, Number.NaN], [entry])).toBe('{"made":1}');
		expect(ask([2, Number.NaN], [entry])).toBe('{"made":2}');
		expect(ask([2, Number.NaN], [{ id: "e" }])).toBe('{"made":3}');
		expect(ask([2, Number.NaN], [entry, entry])).toBe('{"made":4}');
		expect(ask([2], [entry, entry])).toBe('{"made":5}');
	});

	test("notice what is added to a list that is the same array", () => {
		const cache = new AnswerCache();
		const session = {};
		const list = [1];
		const ask = () => cache.answer(session, "read", inputs([], list), () => [...list]).written.json;
		expect(ask()).toBe("[1]");
		list.push(2);
		expect(ask()).toBe("[1,2]");
	});

	test("belong to one session and one name", () => {
		const cache = new AnswerCache();
		const [one, other] = [{}, {}];
		const ask = (of: object, name: string, data: string) =>
			cache.answer(of, name, inputs(), () => data).data;
		expect([ask(one, "a", "1"), ask(one, "b", "2"), ask(other, "a", "3")]).toEqual(["1", "2", "3"]);
		expect([ask(one, "a", "x"), ask(one, "b", "x"), ask(other, "a", "x")]).toEqual(["1", "2", "3"]);
		cache.evict(one);
		expect([ask(one, "a", "4"), ask(other, "a", "x")]).toEqual(["4", "3"]);
	});

	test("take no more than they may: those that were used longest ago go, and one that is too large is not kept", () => {
		const cache = new AnswerCache(800);
		const session = {};
		let made = 0;
		const ask = (name: string, length: number) =>
			cache.answer(session, name, inputs(), () => `${++made}${"x".repeat(length)}`).written.json;
		const [a] = [ask("a", 100), ask("b", 100)];
		expect(ask("a", 100)).toBe(a);
		ask("c", 100); // b goes
		expect(cache.bytes).toBeLessThanOrEqual(800);
		expect(made).toBe(3);
		expect(ask("a", 100)).toBe(a);
		ask("b", 100);
		expect(made).toBe(4);
		ask("large", 5_000);
		ask("large", 5_000);
		expect(made).toBe(6);
		cache.evict(session);
		expect(cache.bytes).toBe(0);
	});

	test("may be as large as an answer may be", { tags: "slow" }, () => {
		const cache = new AnswerCache();
		const session = {};
		const data = "x".repeat(DEFAULT_LIMITS.maxAnswerBytes - 1_000);
		const { written } = cache.answer(session, "a", inputs(), () => data);
		expect(cache.answer(session, "a", inputs(), () => data).written).toBe(written);
	});

	test("are few for a session, whatever names are made up", () => {
		const cache = new AnswerCache();
		const session = {};
		for (let n = 0; n < 1_000; n++) cache.answer(session, `name ${n}`, inputs(), () => "x");
		const one = new AnswerCache();
		one.answer(session, "name 0", inputs(), () => "x");
		expect(cache.bytes).toBeLessThan(one.bytes * 20);
	});

	test("that cannot be made, or written, leave nothing behind", () => {
		const cache = new AnswerCache();
		const session = {};
		const fail = () => {
			throw new Error("not there");
		};
		expect(() => cache.answer(session, "read", inputs(), fail)).toThrow("not there");
		expect(() => cache.answer(session, "read", inputs(), () => 1n)).toThrow(/BigInt/);
		expect(cache.answer(session, "read", inputs(), () => 2).data).toBe(2);
		expect(cache.bytes).toBeGreaterThan(0);
	});
});
