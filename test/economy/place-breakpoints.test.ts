import { describe, expect, test } from "vitest";
import { type Placement, placeBreakpoints } from "../../src/economy/place-breakpoints.ts";
import { costOf, rulesFor } from "../../src/economy/rules.ts";
import { fc } from "../support/property.ts";
import { filler, request, simulate } from "./requests.ts";

const rules = rulesFor({ provider: "anthropic", id: "claude-sonnet-4-5" });

/** Two tools (0, 1), two blocks of system prompt (2, 3), messages from 4 on. */
const head = "tools:t600 tools:u600 system:s500 system:r500";
function places(messages: string, more: Partial<Placement> = {}): number[] {
	const { blocks } = request(`${head} ${messages}`);
	return placeBreakpoints({ blocks, rules, ...more }).map(({ after }) => after);
}

describe("where markers go", () => {
	test("last tool, system, frontier and tail", () => {
		expect(places("a10 b10 c10 d10", { frontier: 5 })).toEqual([1, 3, 5, 7]);
		expect(places("a10 b10 c10 d10")).toEqual([1, 3, 7]);
	});

	test("a step of 20 blocks and more gets another at the old tail", () => {
		expect(places(`a10 b10 ${filler(19)}`, { previousTail: 5 })).toEqual([1, 3, 24]);
		expect(places(`a10 b10 ${filler(20)}`, { previousTail: 5 })).toEqual([1, 3, 5, 25]);
		expect(places(`a10 b10 ${filler(20)}`, { previousTail: 5, frontier: 4 })).toEqual([
			3, 4, 5, 25,
		]);
	});

	test("a step of many parallel calls and their results does not", () => {
		const calls = `${filler(30, "calls:c10")} ${filler(30, "results:r10")}`;
		expect(places(`a10 b10 ${calls}`, { previousTail: 5 })).toEqual([1, 3, 65]);
	});

	test("a small budget goes to the tail first, then to the system prompt", () => {
		const within = (maxBreakpoints: number) => ({
			frontier: 4,
			rules: { ...rules, maxBreakpoints },
		});
		expect(places("a10 b10", within(0))).toEqual([]);
		expect(places("a10 b10", within(1))).toEqual([5]);
		expect(places("a10 b10", within(2))).toEqual([3, 5]);
		expect(places("a10 b10", within(3))).toEqual([3, 4, 5]);
	});

	test("none is spent below the minimum", () => {
		const strict = { ...rules, minimumTokens: 1300 };
		expect(places("a10 b10", { rules: strict })).toEqual([3, 5]);
		expect(places("a10", { rules: { ...rules, minimumTokens: 5000 } })).toEqual([]);
	});

	test("none goes behind a tail that changes each time", () => {
		expect(places("a10 b10 c10", { tail: 5, frontier: 6 })).toEqual([1, 3, 5]);
	});

	test("none is set for a provider that ignores them", () => {
		expect(places("a10", { rules: rulesFor({ provider: "openai", id: "gpt-5.4" }) })).toEqual([]);
	});

	test("they carry the lifetime asked for", () => {
		const { blocks } = request(head);
		expect(placeBreakpoints({ blocks, rules, ttl: "1h" })).toEqual([
			{ after: 1, ttl: "1h" },
			{ after: 3, ttl: "1h" },
		]);
		expect(placeBreakpoints({ blocks: [], rules })).toEqual([]);
	});
});

test("whatever the request, the provider takes them", () => {
	const index = fc.option(fc.integer({ min: -3, max: 60 }), { nil: undefined });
	const shapes = fc.record({
		tools: fc.nat(3),
		system: fc.nat(3),
		messages: fc.nat(40),
		maxBreakpoints: fc.integer({ min: 0, max: 4 }),
		places: fc.record({ frontier: index, previousTail: index }),
	});
	fc.assert(
		fc.property(shapes, ({ tools, system, messages, maxBreakpoints, places: marks }) => {
			const word = (text: string, count: number) => Array(count).fill(text).join(" ");
			const line = `${word("tools:t300", tools)} ${word("system:s300", system)} ${word("m90", messages)}`;
			const whole = request(line);
			const given = Object.fromEntries(Object.entries(marks).filter(([, at]) => at !== undefined));
			const limited = { ...rules, maxBreakpoints };
			const breakpoints = placeBreakpoints({ ...whole, rules: limited, ...given });
			expect(breakpoints.length).toBeLessThanOrEqual(maxBreakpoints);
			expect(() => simulate([{ ...whole, breakpoints }], rules)).not.toThrow();
		}),
	);
});

test("in a session of large steps every request reads what the one before wrote", () => {
	let line = head;
	let previousTail: number | undefined;
	const requests = [5, 20, 40, 3, 100].map((step, turn) => {
		line += ` ${filler(step)}`;
		const { blocks } = request(line);
		const tail = previousTail === undefined ? {} : { previousTail };
		const breakpoints = placeBreakpoints({ blocks, rules, ...tail });
		previousTail = breakpoints.at(-1)?.after;
		return { atMs: turn, blocks, breakpoints };
	});
	expect(simulate(requests, rules).map(({ read, write }) => [read, write])).toEqual([
		[0, 2250],
		[2250, 200],
		[2450, 400],
		[2850, 30],
		[2880, 1000],
	]);
});

test("the frontier's marker keeps a pruning from rewriting what lies before it", () => {
	const before = `${head} a9000 b4000 c4000`;
	const after = `${head} a9000 x10 c4000`;
	const cost = (frontier: { frontier?: number }) => {
		const requests = [before, after].map((line, atMs) => {
			const { blocks } = request(line);
			return { atMs, blocks, breakpoints: placeBreakpoints({ blocks, rules, ...frontier }) };
		});
		return costOf(simulate(requests, rules)[1] as never, rules);
	};
	// With it 11,200 are read and 4,010 written; without it 2,200 and 13,010.
	expect(cost({ frontier: 4 })).toBeCloseTo(1120 + 1.25 * 4010, 6);
	expect(cost({})).toBeCloseTo(220 + 1.25 * 13_010, 6);
});
