import { describe, expect, test } from "vitest";
import {
	createLoopbackCache,
	type LoopbackBlock,
	type LoopbackBody,
	loopbackTokens,
} from "./loopback-cache.ts";

/*
 * Every number below is worked out by hand. A user text block is counted as the 30 bytes of
 * `user {"type":"text","text":""}` plus its text, so a block of T tokens holds 4T - 30 letters.
 */
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FIVE = { type: "ephemeral" };
const LONG = { type: "ephemeral", ttl: "1h" };

function block(tokens: number, marker?: object, letter = "x"): LoopbackBlock {
	const text = letter.repeat(4 * tokens - 30);
	return { type: "text", text, ...(marker && { cache_control: marker }) };
}

function ask(...content: LoopbackBlock[]): LoopbackBody {
	return { model: "m", messages: [{ role: "user", content }] };
}

function clocked(options: { minTokens?: number; lookback?: number } = {}) {
	const clock = { at: 1_000 };
	return { clock, cache: createLoopbackCache({ ...options, now: () => clock.at }) };
}

const plain = (input: number) => ({ input, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0 });
const wrote = (cacheWrite: number, input = 0) => ({ ...plain(input), cacheWrite });
const read = (cacheRead: number, cacheWrite = 0, input = 0) => ({
	...wrote(cacheWrite, input),
	cacheRead,
});

describe("what counts", () => {
	test("a token is four UTF-8 bytes, begun ones included", () => {
		expect(loopbackTokens("")).toBe(0);
		expect(loopbackTokens("abcd")).toBe(1);
		expect(loopbackTokens("abcde")).toBe(2);
		expect(loopbackTokens("日本")).toBe(2);
	});

	test("tools, system and messages add up block by block", () => {
		const { cache } = clocked();
		const body = {
			model: "m",
			tools: [{ name: "read" }], // {"name":"read"}: 15 bytes, 4 tokens
			system: "abc", // {"type":"text","text":"abc"}: 28 bytes, 7 tokens
			messages: [{ role: "user", content: "hi" }], // 30 + 2 bytes, 8 tokens
		};
		expect(cache.bill(body)).toEqual(plain(19));
	});

	test("a string and its one text block are the same prefix", () => {
		const { cache } = clocked();
		const text = "x".repeat(4 * 1100 - 30);
		expect(cache.bill(ask(block(1100, FIVE)))).toEqual(wrote(1100));
		const later = {
			model: "m",
			messages: [
				{ role: "user", content: text },
				{ role: "user", content: [block(50, FIVE)] },
			],
		};
		expect(cache.bill(later)).toEqual(read(1100, 50));
	});

	test("a deferred tool is outside the prefix", () => {
		const { cache } = clocked();
		const tools = [{ name: "read" }];
		expect(cache.bill({ ...ask(block(1100, FIVE)), tools })).toEqual(wrote(1104));
		const late = [...tools, { name: "late", defer_loading: true }];
		expect(cache.bill({ ...ask(block(1100, FIVE)), tools: late })).toEqual(read(1104));
	});

	test("a message without content still counts by its settings", () => {
		const { cache } = clocked();
		const effort = (level: string) => ({
			model: "m",
			messages: [
				{ role: "system", content: [], output_config: { effort: level } },
				{ role: "user", content: [block(1100, FIVE)] },
			],
		});
		// system {"output_config":{"effort":"high"}}: 7 + 35 bytes, 11 tokens
		expect(cache.bill(effort("high"))).toEqual(wrote(1111));
		expect(cache.bill(effort("high"))).toEqual(read(1111));
		expect(cache.bill(effort("low"))).toEqual(wrote(1111));
	});
});

describe("writing", () => {
	test("a prefix one token below the minimum is not cached, at the minimum it is", () => {
		const { cache } = clocked();
		expect(cache.bill(ask(block(1023, FIVE)))).toEqual(plain(1023));
		expect(cache.bill(ask(block(1023, FIVE)))).toEqual(plain(1023));
		expect(cache.bill(ask(block(1024, FIVE)))).toEqual(wrote(1024));
		expect(cache.bill(ask(block(1024, FIVE)))).toEqual(read(1024));
	});

	test("the minimum is for the whole prefix and can be set", () => {
		expect(clocked().cache.bill(ask(block(1000), block(24, FIVE)))).toEqual(wrote(1024));
		const { cache } = clocked({ minTokens: 4096 });
		expect(cache.bill(ask(block(4000), block(95, FIVE)))).toEqual(plain(4095));
		expect(cache.bill(ask(block(4000), block(96, FIVE)))).toEqual(wrote(4096));
	});

	test("entries exist only at marked blocks", () => {
		const { cache } = clocked();
		expect(cache.bill(ask(block(1100), block(100), block(50, FIVE)))).toEqual(wrote(1250));
		// The first 1200 tokens are the same, but no entry ends there.
		expect(cache.bill(ask(block(1100), block(100, FIVE)))).toEqual(wrote(1200));
	});

	test("a new marker inside a read prefix leaves an entry there at no cost", () => {
		const { cache } = clocked();
		cache.bill(ask(block(1100), block(50, FIVE)));
		expect(cache.bill(ask(block(1100, FIVE), block(50, FIVE)))).toEqual(read(1150));
		expect(cache.bill(ask(block(1100), block(60, FIVE)))).toEqual(read(1100, 60));
	});

	test("what follows the last marker is plain input, and no marker caches nothing", () => {
		const { cache } = clocked();
		expect(cache.bill(ask(block(1100, FIVE), block(70)))).toEqual(wrote(1100, 70));
		expect(cache.bill(ask(block(1100, FIVE), block(80)))).toEqual(read(1100, 0, 80));
		expect(cache.bill(ask(block(1100), block(80)))).toEqual(plain(1180));
	});
});

describe("reading", () => {
	const filler = (count: number) => Array.from({ length: count }, () => block(10));

	test("20 positions are searched, the marked one first: an entry 20 blocks before it is out of reach", () => {
		const { cache } = clocked();
		cache.bill(ask(block(1100, FIVE)));
		expect(cache.bill(ask(block(1100), ...filler(19), block(10, FIVE)))).toEqual(wrote(1300));
		expect(cache.bill(ask(block(1100), ...filler(18), block(10, FIVE)))).toEqual(read(1100, 190));
	});

	test("a run of calls is one position, and so is a run of results", () => {
		const run = (type: string) => Array.from({ length: 30 }, () => ({ type }));
		const runs = [...run("tool_use"), ...run("tool_result")];
		const found = (texts: number) => {
			const { cache } = clocked();
			cache.bill(ask(block(1100, FIVE)));
			const body = ask(block(1100), ...filler(texts), ...runs, block(10, FIVE));
			return cache.bill(body).cacheRead;
		};
		expect(found(16)).toBe(1100);
		expect(found(17)).toBe(0);
	});

	test("each marker looks back for itself and the longest hit wins", () => {
		const { cache } = clocked();
		cache.bill(ask(block(1100, FIVE), block(100, FIVE)));
		const body = ask(
			block(1100, FIVE),
			block(100),
			block(30, FIVE),
			...filler(25),
			block(10, FIVE),
		);
		expect(cache.bill(body)).toEqual(read(1200, 290));
	});

	test("a changed byte in an early block loses everything after it", () => {
		const { cache } = clocked();
		cache.bill(ask(block(1100, FIVE), block(100), block(50, FIVE)));
		const changed = ask(block(1100, FIVE), block(100, undefined, "y"), block(50, FIVE));
		expect(cache.bill(changed)).toEqual(read(1100, 150));
		const first = ask(block(1100, FIVE, "z"), block(100), block(50, FIVE));
		expect(cache.bill(first)).toEqual(wrote(1250));
	});

	test("another role or another order of the same blocks is another prefix", () => {
		const { cache } = clocked();
		cache.bill(ask(block(600), block(601, FIVE)));
		expect(cache.bill(ask(block(601), block(600, FIVE)))).toEqual(wrote(1201));
		const spoken = { model: "m", messages: [{ role: "assistant", content: [block(1300, FIVE)] }] };
		cache.bill(ask(block(1300, FIVE)));
		// "assistant" is five letters longer than "user": two tokens more
		expect(cache.bill(spoken)).toEqual(wrote(1302));
	});

	test("another model starts cold and leaves the first one warm", () => {
		const { cache } = clocked();
		cache.bill(ask(block(1100, FIVE)));
		expect(cache.bill({ ...ask(block(1100, FIVE)), model: "other" })).toEqual(wrote(1100));
		expect(cache.bill(ask(block(1100, FIVE)))).toEqual(read(1100));
	});
});

describe("life of an entry", () => {
	test.each([
		["five minutes", FIVE, 5 * MINUTE],
		["an hour", LONG, HOUR],
	])("an entry lives until just before %s have passed", (_, marker, ttl) => {
		const first = clocked();
		first.cache.bill(ask(block(1100, marker)));
		first.clock.at += ttl - 1;
		expect(first.cache.bill(ask(block(1100, marker))).cacheRead).toBe(1100);

		const second = clocked();
		second.cache.bill(ask(block(1100, marker)));
		second.clock.at += ttl;
		expect(second.cache.bill(ask(block(1100, marker))).cacheRead).toBe(0);
	});

	test("a hit starts the TTL again, also when found by looking back", () => {
		const { clock, cache } = clocked();
		cache.bill(ask(block(1100, FIVE)));
		clock.at += 4 * MINUTE;
		expect(cache.bill(ask(block(1100), block(20, FIVE)))).toEqual(read(1100, 20));
		clock.at += 4 * MINUTE;
		expect(cache.bill(ask(block(1100), block(30, FIVE)))).toEqual(read(1100, 30));
		clock.at += 5 * MINUTE;
		expect(cache.bill(ask(block(1100), block(40, FIVE)))).toEqual(wrote(1140));
	});

	test("a marked entry before the longest hit is refreshed too", () => {
		const { clock, cache } = clocked();
		const both = ask(block(1100, FIVE), block(50, FIVE));
		cache.bill(both);
		clock.at += 4 * MINUTE;
		expect(cache.bill(both)).toEqual(read(1150));
		clock.at += 4 * MINUTE;
		expect(cache.bill(ask(block(1100, FIVE)))).toEqual(read(1100));
	});

	test("a 1h marker on a 5m prefix buys no longer life", () => {
		const { clock, cache } = clocked();
		cache.bill(ask(block(1100), block(50, FIVE)));
		expect(cache.bill(ask(block(1100, LONG), block(50, FIVE)))).toEqual(read(1150));
		clock.at += 5 * MINUTE;
		expect(cache.bill(ask(block(1100, LONG)))).toEqual({ ...wrote(1100), cacheWrite1h: 1100 });
	});
});

describe("one hour and five minutes together", () => {
	test("tokens up to the last 1h marker are written for an hour, the rest for five minutes", () => {
		const { clock, cache } = clocked();
		const body = ask(block(1100, LONG), block(200, LONG), block(70), block(30, FIVE), block(9));
		expect(cache.bill(body)).toEqual({
			input: 9,
			cacheRead: 0,
			cacheWrite: 1400,
			cacheWrite1h: 1300,
		});
		clock.at += 5 * MINUTE;
		expect(cache.bill(body)).toEqual(read(1300, 100, 9));
	});

	test("only the part behind the hit is split", () => {
		const { cache } = clocked();
		cache.bill(ask(block(1100, LONG)));
		const body = ask(block(1100, LONG), block(200, LONG), block(30, FIVE));
		expect(cache.bill(body)).toEqual({ ...read(1100, 230), cacheWrite1h: 200 });
	});

	test("a 1h marker below the minimum writes nothing for an hour", () => {
		const { cache } = clocked();
		expect(cache.bill(ask(block(1000, LONG), block(100, FIVE)))).toEqual(wrote(1100));
	});
});

describe("markers the API refuses", () => {
	test("more than four, and nothing is written by the refused request", () => {
		const { cache } = clocked();
		const four = [block(1100, FIVE), block(10, FIVE), block(10, FIVE), block(10, FIVE)];
		expect(() => cache.bill(ask(...four, block(10, FIVE)))).toThrow(
			"A maximum of 4 blocks with cache_control may be provided. Found 5.",
		);
		expect(cache.bill(ask(...four))).toEqual(wrote(1130));
	});

	test("markers of tools, system and messages are counted together", () => {
		const { cache } = clocked();
		const body = {
			...ask(block(1100, FIVE), block(10, FIVE), block(10, FIVE)),
			tools: [{ name: "read", cache_control: FIVE }],
			system: [{ type: "text", text: "s", cache_control: FIVE }],
		};
		expect(() => cache.bill(body)).toThrow("Found 5");
	});

	test("a 1h marker after a 5m marker", () => {
		const { cache } = clocked();
		expect(() => cache.bill(ask(block(1100, FIVE), block(10, LONG)))).toThrow(
			/^messages\.0\.content\.1\.cache_control\.ttl: a ttl='1h' .* must not come after a ttl='5m'/,
		);
		// An explicit "5m" is the default spelled out.
		const spelled = { type: "ephemeral", ttl: "5m" };
		expect(() => cache.bill(ask(block(1100, spelled), block(10, LONG)))).toThrow("ttl='1h'");
	});

	test("forms nobody knows, and forms the model does not follow", () => {
		const { cache } = clocked();
		expect(() => cache.bill(ask(block(1100, { type: "forever" })))).toThrow("ephemeral");
		expect(() => cache.bill(ask(block(1100, { type: "ephemeral", ttl: "2h" })))).toThrow("2h");
		expect(() => cache.bill({ ...ask(block(1100)), cache_control: FIVE })).toThrow("automatic");
		const nested = { type: "tool_result", tool_use_id: "t", content: [block(20, FIVE)] };
		expect(() => cache.bill(ask(nested))).toThrow("inside tool results");
	});
});
