import { describe, expect, test } from "vitest";
import { CacheSimulator } from "../../src/economy/cache-simulator.ts";
import type { ModelRequest } from "../../src/economy/model-request.ts";
import { type CacheRules, rulesFor } from "../../src/economy/rules.ts";
import { filler, HOUR, MINUTE, request, simulate } from "./requests.ts";

/* Every number below is worked out by hand. */

/** A minimum of 1024 tokens, four markers, 20 positions of looking back. */
const anthropic = rulesFor({ provider: "anthropic", id: "claude-sonnet-4-5" });

/** A cache that takes requests in short and tells what was read, written and plain input. */
function account(rules: CacheRules = anthropic) {
	const cache = new CacheSimulator(rules);
	const send = (line: string, atMs = 0, more: Partial<ModelRequest> = {}) =>
		cache.send(request(line, { atMs, ...more }));
	return {
		send,
		bill(line: string, atMs = 0, more: Partial<ModelRequest> = {}) {
			const { read, write, input } = send(line, atMs, more);
			return { read, write, input };
		},
	};
}
const plain = (input: number) => ({ read: 0, write: 0, input });
const wrote = (write: number, input = 0) => ({ read: 0, write, input });
const read = (tokens: number, write = 0, input = 0) => ({ read: tokens, write, input });

describe("writing", () => {
	test("one token below the minimum nothing is cached, at the minimum it is", () => {
		const { bill } = account();
		expect(bill("a1023*")).toEqual(plain(1023));
		expect(bill("a1023*")).toEqual(plain(1023));
		expect(bill("b1024*")).toEqual(wrote(1024));
		expect(bill("b1024*")).toEqual(read(1024));
	});

	test("the minimum is for the prefix, not for the block", () => {
		expect(account().bill("tools:t500* system:s500* a24*")).toEqual(wrote(1024));
		const { bill } = account();
		expect(bill("tools:t500* system:s523* a500*")).toEqual(wrote(1523));
		// Neither of the first two markers left an entry.
		expect(bill("tools:t500* system:s523* b500*")).toEqual(wrote(1523));
	});

	test("entries end at markers only", () => {
		const { bill } = account();
		expect(bill("a1100 b100 c50*")).toEqual(wrote(1250));
		expect(bill("a1100 b100*")).toEqual(wrote(1200));
	});

	test("what follows the last marker is plain input, and without markers everything is", () => {
		const { bill } = account();
		expect(bill("a1100* b70")).toEqual(wrote(1100, 70));
		expect(bill("a1100* c80")).toEqual(read(1100, 0, 80));
		expect(bill("a1100 c80")).toEqual(plain(1180));
	});

	test("all four markers write, a fifth is refused and leaves the cache as it was", () => {
		const { bill } = account();
		expect(bill("a1100* b10* c10* d10* e10")).toEqual(wrote(1130, 10));
		for (const [line, tokens] of Object.entries({ a1100: 1100, "a1100 b10": 1110 })) {
			expect(bill(`${line}*`)).toEqual(read(tokens));
		}
		expect(() => bill("x1100* b10* c10* d10* e10*")).toThrow(
			"the provider allows at most 4, got 5",
		);
		expect(bill("x1100*")).toEqual(wrote(1100));
	});

	test("a new marker inside what is read leaves an entry there for nothing", () => {
		const { bill } = account();
		bill("a1100 b50*");
		expect(bill("a1100* b50*")).toEqual(read(1150));
		expect(bill("a1100 c60*")).toEqual(read(1100, 60));
	});
});

describe("reading", () => {
	test("20 positions are searched, the marked one first: an entry 20 blocks before it is out of reach", () => {
		const { bill } = account();
		bill("a1100*");
		expect(bill(`a1100 ${filler(19)} z10*`)).toEqual(wrote(1300));
		expect(bill(`a1100 ${filler(18)} y10*`)).toEqual(read(1100, 190));
	});

	test("a run of calls is one position, and so is a run of results", () => {
		const calls = filler(30, "calls:c10");
		const results = filler(30, "results:r10");
		const step = (texts: number) => `a1100 ${filler(texts)} ${calls} ${results}*`;
		const within = account();
		within.bill("a1100*");
		expect(within.bill(step(17))).toEqual(read(1100, 770));
		const beyond = account();
		beyond.bill("a1100*");
		expect(beyond.bill(step(18))).toEqual(wrote(1880));
	});

	test("runs that another block or the other kind parts are positions of their own", () => {
		const turns = (count: number) => filler(count, "calls:c10 results:r10");
		const { bill } = account();
		bill("a1100*");
		expect(bill(`a1100 ${turns(10)} z10*`)).toEqual(wrote(1310));
		expect(bill(`a1100 ${turns(9)} y10*`)).toEqual(read(1100, 190));
		expect(bill(`a1100 ${filler(9, "results:r10 f10")} x10*`)).toEqual(read(1100, 190));
		expect(bill(`a1100 ${filler(10, "results:r10 f10")} w10*`)).toEqual(wrote(1310));
	});

	test("an entry inside a run is found, and a marker inside one starts a position", () => {
		const { bill } = account();
		bill("a1100 results:r10*");
		expect(bill(`a1100 ${filler(5, "results:r10")} ${filler(19)}*`)).toEqual(read(1110, 230));
		const marked = account();
		marked.bill("a1100*");
		const run = "results:r10 results:s10* results:t10 results:u10";
		expect(marked.bill(`a1100 ${filler(18)} ${run}`)).toEqual(read(1100, 200, 20));
		expect(marked.bill(`a1100 ${filler(19)} ${run}`)).toEqual(wrote(1310, 20));
	});

	test("a second marker within reach makes up for a step of 20 blocks and more", () => {
		const { bill } = account();
		bill("a1100*");
		expect(bill(`a1100 ${filler(18)} z10* ${filler(18)} z10*`)).toEqual(read(1100, 380));
	});

	test("each marker looks back for itself, and the longest find counts", () => {
		const { bill, send } = account();
		bill("a1100* b100*");
		const tokens = send(`a1100* b100 c30* ${filler(25)} z10*`);
		expect(tokens).toEqual({ read: 1200, write: 290, writeOneHour: 0, input: 0 });
	});

	test("a changed block loses itself and all that follows, down to the last marker before it", () => {
		const { bill, send } = account();
		bill("tools:t1100* system:s100* a50 b50*");
		expect(bill("tools:t1100* system:s100* a50 x50*")).toEqual(read(1200, 100));
		expect(bill("tools:t1100* system:x100* a50 b50*")).toEqual(read(1100, 200));
		expect(send("tools:x1100* system:s100* a50 b50*")).toMatchObject({ read: 0 });
	});

	test("the same blocks in another order or another part are another prefix", () => {
		const { bill } = account();
		bill("a600 b600*");
		expect(bill("b600 a600*")).toEqual(wrote(1200));
		expect(bill("system:a600 b600*")).toEqual(wrote(1200));
		expect(bill("system:a600 system:b600*")).toEqual(wrote(1200));
	});

	test("a request of nothing costs nothing", () => {
		expect(account().send("")).toEqual({ ...plain(0), writeOneHour: 0 });
	});
});

describe("the life of an entry", () => {
	test.each([
		["five minutes", "*", 5 * MINUTE],
		["an hour", "**", HOUR],
	])("it ends exactly after %s", (_, marker, ttl) => {
		const before = account();
		before.bill(`a1100${marker}`);
		expect(before.bill(`a1100${marker}`, ttl - 1)).toEqual(read(1100));
		const after = account();
		after.bill(`a1100${marker}`);
		expect(after.bill(`a1100${marker}`, ttl)).toEqual(wrote(1100));
	});

	test("a hit starts it again, also one found by looking back", () => {
		const { bill } = account();
		bill("a1100*");
		expect(bill("a1100 b20*", 4 * MINUTE)).toEqual(read(1100, 20));
		expect(bill("a1100 c30*", 8 * MINUTE)).toEqual(read(1100, 30));
		expect(bill("a1100 d40*", 13 * MINUTE)).toEqual(wrote(1140));
	});

	test("a marked entry inside what is read starts again too, an unmarked one does not", () => {
		const marked = account();
		marked.bill("a1100* b50*");
		marked.bill("a1100* b50*", 4 * MINUTE);
		expect(marked.bill("a1100*", 8 * MINUTE)).toEqual(read(1100));
		const unmarked = account();
		unmarked.bill("a1100* b50*");
		unmarked.bill("a1100 b50*", 4 * MINUTE);
		expect(unmarked.bill("a1100*", 8 * MINUTE)).toEqual(wrote(1100));
	});

	test("a ping sends the last request again and keeps it alive", () => {
		const { bill } = account();
		bill("a1100* b7");
		expect(bill("a1100* b7", 4 * MINUTE)).toEqual(read(1100, 0, 7));
		expect(bill("a1100* b7", 8 * MINUTE)).toEqual(read(1100, 0, 7));
		expect(bill("a1100* c9", 12 * MINUTE)).toEqual(read(1100, 0, 9));
		expect(bill("a1100* c9", 17 * MINUTE)).toEqual(wrote(1100, 9));
	});

	test("a cold start forgets everything, for the request that meets it and for pings after it", () => {
		const { bill } = account();
		bill("a1100*");
		expect(bill("a1100*", 1, { cold: true })).toEqual(wrote(1100));
		expect(bill("a1100*", 2)).toEqual(read(1100));
		expect(bill("a1100*", 3, { cold: true })).toEqual(wrote(1100));
	});

	test("a clock that goes back stands still", () => {
		const { bill } = account();
		bill("a1100*", HOUR);
		expect(bill("a1100*", 0)).toEqual(read(1100));
		expect(bill("a1100*", HOUR + 5 * MINUTE)).toEqual(wrote(1100));
	});

	test("many prefixes that nothing leads to any more change no bill", () => {
		const { bill } = account();
		bill("a1100 leaf100**");
		for (let turn = 0; turn < 100; turn++) {
			// 500 new blocks each, of which all but the last ten requests' are dead.
			const word = turn.toString().replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "");
			const line = Array.from({ length: 500 }, () => `${word}10`).join(" ");
			expect(bill(`a1100 ${line}*`, (turn * MINUTE) / 2)).toEqual(wrote(6100));
			if (turn % 9 === 0) expect(bill(`a1100 ${line}*`, (turn * MINUTE) / 2)).toEqual(read(6100));
		}
		expect(bill("a1100 leaf100**", 50 * MINUTE)).toEqual(read(1200));
	});
});

describe("five minutes and an hour in one request", () => {
	test("what ends before the last hour marker is written for an hour, the rest for five minutes", () => {
		const { send, bill } = account();
		const line = "a1100** b200** c70 d30* e9";
		expect(send(line)).toMatchObject({ ...wrote(1400, 9), writeOneHour: 1300 });
		expect(bill(line, 5 * MINUTE)).toEqual(read(1300, 100, 9));
	});

	test("what was read already is not written for an hour", () => {
		const { send } = account();
		send("a1100**");
		expect(send("a1100** b200** c30*")).toMatchObject({ ...read(1100, 230), writeOneHour: 200 });
	});

	test("an hour marker inside a prefix written for five minutes buys no longer life", () => {
		const { bill, send } = account();
		bill("a1100 b50*");
		expect(bill("a1100** b50*")).toEqual(read(1150));
		expect(send("a1100**", 5 * MINUTE)).toMatchObject({ ...wrote(1100), writeOneHour: 1100 });
	});

	test("an hour marker below the minimum writes nothing for an hour", () => {
		expect(account().send("a1000** b100*")).toMatchObject({ ...wrote(1100), writeOneHour: 0 });
	});

	test("a longer one comes first; the other order is refused", () => {
		expect(account().bill("a1100** b10*")).toEqual(wrote(1110));
		expect(() => account().bill("a1100* b10**")).toThrow("must come before all 5m breakpoints");
	});
});

describe("settings", () => {
	test("another model shares nothing, and the first one's entries stay", () => {
		const { bill } = account();
		bill("a1100*", 0, { settings: { model: "one" } });
		expect(bill("a1100*", 1, { settings: { model: "two" } })).toEqual(wrote(1100));
		expect(bill("a1100*", 2, { settings: { model: "one" } })).toEqual(read(1100));
	});

	test.each(["thinking", "effort", "toolChoice", "images"])(
		"a change of %s loses the messages and keeps tools and system",
		(name) => {
			const { bill } = account();
			const line = "tools:t1100* system:s100* a50*";
			bill(line, 0, { settings: { [name]: "high" } });
			expect(bill(line, 1, { settings: { [name]: "high" } })).toEqual(read(1250));
			expect(bill(line, 2, { settings: { [name]: "low" } })).toEqual(read(1200, 50));
		},
	);

	test("a provider that does not care keeps everything", () => {
		const { bill } = account(rulesFor({ provider: "openai", id: "gpt-5.4" }));
		bill("a1280", 0, { settings: { thinking: "high" } });
		expect(bill("a1280", 1, { settings: { thinking: "low" } })).toEqual(read(1280));
	});
});

describe("shared prefixes, as OpenAI has them before GPT-5.6", () => {
	const rules = rulesFor({ provider: "openai", id: "gpt-5.4" });

	test("reads come in steps of 128 tokens from 1024 on, and writes are plain input", () => {
		const { send, bill } = account(rules);
		expect(bill("a1000 b100")).toEqual(plain(1100));
		expect(send("a1000 b100")).toEqual({ ...read(1024, 0, 76), writeOneHour: 0 });
		bill("c1000 d151");
		expect(bill("c1000 d151 e500")).toEqual(read(1024, 0, 627)); // 1151 tokens are one short of the next step
		bill("c1000 f152");
		expect(bill("c1000 f152 e500")).toEqual(read(1152, 0, 500));
	});

	test("one token below the minimum nothing is read", () => {
		const { bill } = account(rules);
		bill("a1023 b500");
		expect(bill("a1023 c500")).toEqual(plain(1523));
	});

	test("what two requests share is read, markers or not", () => {
		const { bill } = account(rules);
		bill("a1280 b500 c500*");
		expect(bill("a1280 b500 d700")).toEqual(read(1664, 0, 816)); // 1780 = 13 steps and 116 tokens
		expect(bill("a1280* b1* c1* d1* e1*")).toEqual(read(1280, 0, 4));
	});

	test("a prefix lives five minutes after its last use, a day if that is asked for", () => {
		const { bill } = account(rules);
		bill("a1280 b128");
		expect(bill("a1280 c128", 5 * MINUTE - 1)).toEqual(read(1280, 0, 128));
		expect(bill("a1280 b128", 5 * MINUTE)).toEqual(read(1280, 0, 128));
		expect(bill("a1280 b128", 10 * MINUTE)).toEqual(plain(1408));
		bill("z1280**", 20 * MINUTE);
		bill("z1280", 30 * MINUTE); // one request without the wish does not end it
		expect(bill("z1280**", 20 * MINUTE + 24 * HOUR - 1)).toEqual(read(1280));
	});
});

describe("whole requests, as OpenAI has them since GPT-5.6", () => {
	const rules = rulesFor({ provider: "openai", id: "gpt-5.6-sol" });

	test("the end of a request is marked by itself, and found from any distance", () => {
		const { bill } = account(rules);
		expect(bill("a1100")).toEqual(wrote(1100));
		expect(bill(`a1100 ${filler(300)}`)).toEqual(read(1100, 3000));
	});

	test("a shared start is read only where an entry ends", () => {
		const { bill } = account(rules);
		bill("a1100 b50");
		expect(bill("a1100 c50")).toEqual(wrote(1150));
		bill("d1100* e50");
		expect(bill("d1100 f50")).toEqual(read(1100, 50));
	});

	test("four entries are written for a request, the last ones", () => {
		const { bill } = account(rules);
		bill("a1100* b10* c10* d10* e10");
		expect(bill("a1100 x10")).toEqual(wrote(1110));
		expect(bill("a1100 b10 x10")).toEqual(read(1110, 10));
	});

	test("they live for half an hour", () => {
		const { bill } = account(rules);
		bill("a1100");
		expect(bill("a1100", 30 * MINUTE - 1)).toEqual(read(1100));
		expect(bill("a1100", 60 * MINUTE)).toEqual(wrote(1100));
	});

	test("the longer lifetime is twelve hours", () => {
		const { bill, send } = account(rules);
		expect(send("a1100**")).toMatchObject({ ...wrote(1100), writeOneHour: 1100 });
		expect(bill("a1100**", 12 * HOUR - 1)).toEqual(read(1100));
		expect(bill("a1100**", 24 * HOUR)).toEqual(wrote(1100));
	});
});

test("DeepSeek reads whole earlier requests and bills the rest as input", () => {
	const { bill } = account(rulesFor({ provider: "deepseek", id: "deepseek-v4-pro" }));
	expect(bill("a10 b10*")).toEqual(plain(20));
	expect(bill(`a10 b10* ${filler(30)}`)).toEqual(read(20, 0, 300));
	expect(bill("a10 c10")).toEqual(plain(20));
});

test("the cautious default counts writes in steps at their price", () => {
	const { bill } = account(rulesFor({ provider: "somebody", id: "mystery" }));
	expect(bill("a1100")).toEqual(wrote(1024, 76));
	expect(bill("a1100 b180")).toEqual(read(1024, 256));
});

test("a model without cached reads gets none", () => {
	const { bill } = account(rulesFor({ provider: "openai", id: "gpt-4", cost: rates(30, 0) }));
	expect([bill("a5000*"), bill("a5000*")]).toEqual([plain(5000), plain(5000)]);
});

function rates(input: number, cacheRead: number) {
	return { input, output: 0, cacheRead, cacheWrite: 0 };
}

describe("requests that no provider would take", () => {
	const wrong: [string, ModelRequest, string][] = [
		["no time", request("a1", { atMs: Number.NaN }), "atMs: expected milliseconds, got NaN"],
		["parts out of order", request("a1 system:b1"), "blocks[1]: system must come before messages"],
		[
			"tokens that are no number",
			{ ...request("a1"), blocks: [{ ...request("a1").blocks[0], tokens: -1 } as never] },
			"blocks[0]: expected a number of tokens, got -1",
		],
		[
			"a marker behind nothing",
			request("a1", { breakpoints: [{ after: 1, ttl: "5m" }] }),
			"expected ascending indices below 1, got 1",
		],
		[
			"markers out of order",
			request("a1 b1", {
				breakpoints: [
					{ after: 1, ttl: "5m" },
					{ after: 0, ttl: "5m" },
				],
			}),
			"expected ascending indices below 2, got 1,0",
		],
	];
	test.each(wrong)("%s", (_, bad, message) => {
		expect(() => new CacheSimulator(anthropic).send(bad)).toThrow(
			new RangeError(`${message}`).message,
		);
	});
});

test("a refused request leaves no trace, not even one that meets a cold cache", () => {
	const { bill } = account();
	bill("tools:t1100* a50*");
	expect(() => bill("tools:t1100* a50* system:s10", 1, { cold: true })).toThrow("must come before");
	expect(() => bill("tools:t1100* b50 system:s10", HOUR)).toThrow("must come before");
	expect(bill("tools:t1100* a50*", MINUTE)).toEqual(read(1150));
});

test("simulate bills a sequence from an empty cache", () => {
	const requests = [request("a1100*"), request("a1100 b20*", { atMs: MINUTE })];
	expect(simulate(requests, anthropic)).toEqual([
		{ ...wrote(1100), writeOneHour: 0 },
		{ ...read(1100, 20), writeOneHour: 0 },
	]);
});
