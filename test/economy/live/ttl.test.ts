/** The live choice of lifetimes, billed by a provider that shares no code with it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PromptTokens } from "../../../src/core/bill.ts";
import { pausesIn, readPauses } from "../../../src/economy/live/pause-history.ts";
import { piecesIn } from "../../../src/economy/live/payload-blocks.ts";
import { canSetTtl, LiveTtl } from "../../../src/economy/live/ttl.ts";
import { costOf, rulesFor } from "../../../src/economy/rules.ts";
import { readPayload } from "../../../src/wire/index.ts";
import { createLoopbackCache, type LoopbackBody } from "../../support/loopback-cache.ts";
import { fc, runs } from "../../support/property.ts";
import { tempDir } from "../../support/temp.ts";

const MODEL = {
	provider: "anthropic",
	id: "claude-opus-4-5",
	api: "anthropic-messages",
	baseUrl: "https://api.anthropic.com",
	cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};
const RULES = rulesFor(MODEL, { minimumTokens: 64 });
const MINUTE = 60_000;
const MARKED = { cache_control: { type: "ephemeral" } };

interface Turn {
	readonly gapMinutes: number;
	readonly characters: number;
	/** The conversation starts over, as after a compaction. */
	readonly compacts?: boolean;
	/** The request is sent again, as a ping does. */
	readonly pings?: boolean;
}

/** Requests as pi sends them: breakpoints on the last tool, the system prompt and the last message. */
function bodies(turns: readonly Turn[], isPruning = false): LoopbackBody[] {
	let messages: LoopbackBody["messages"] = [];
	return turns.map(({ characters, compacts }, turn) => {
		if (compacts) messages = [];
		const text = `${turn} ${"x".repeat(characters)}`;
		messages = [...messages, { role: "user", content: [{ type: "text", text }] }];
		const marked = messages.map((message, at) => {
			const isMarked = at === messages.length - 1 || (isPruning && at === messages.length - 3);
			const [block] = message.content as object[];
			return { ...message, content: [isMarked ? { ...block, ...MARKED } : { ...block }] };
		});
		messages = [
			...messages,
			{ role: "assistant", content: [{ type: "text", text: `ok ${turn}` }] },
		];
		return {
			model: MODEL.id,
			tools: [{ name: "read", description: "t".repeat(2000), ...MARKED }],
			system: [{ type: "text", text: "s".repeat(8000), ...MARKED }],
			messages: marked,
		};
	});
}

/** Plays the requests and returns what they cost, and the lifetimes of each one's breakpoints. */
function play(
	turns: readonly Turn[],
	live: LiveTtl | undefined,
	{ isPruning = false, forgets = false } = {},
) {
	let nowMs = 1_800_000_000_000;
	const cache = createLoopbackCache({ minTokens: 64, now: () => nowMs });
	let cost = 0;
	const ttls: string[][] = [];
	const held: boolean[] = [];
	for (const [at, body] of bodies(turns, isPruning).entries()) {
		const turn = turns[at] as Turn;
		nowMs += turn.gapMinutes * MINUTE;
		for (let times = 0; times < (turn.pings ? 2 : 1); times++) {
			nowMs += times * MINUTE;
			const pieces = piecesIn(body);
			const request = { payload: body, pieces, prefix: MODEL.id, rules: RULES, atMs: nowMs };
			const sent = (live?.choose(request) ?? body) as LoopbackBody;
			const usage = cache.bill(forgets ? withoutTtls(sent) : sent);
			const tokens: PromptTokens = {
				input: usage.input,
				read: usage.cacheRead,
				write: usage.cacheWrite,
				writeOneHour: usage.cacheWrite1h,
			};
			cost += costOf(tokens, RULES);
			if (times === 0) live?.recordBill(tokens);
			held.push(live?.holdsLong ?? false);
			ttls.push((readPayload(sent)?.pieces ?? []).flatMap(({ breakpoint }) => breakpoint ?? []));
		}
	}
	return { cost, ttls, held };
}

/** A provider that takes every breakpoint for a short one. */
function withoutTtls(body: LoopbackBody): LoopbackBody {
	return JSON.parse(JSON.stringify(body).replaceAll(',"ttl":"1h"', ""));
}

const steps = (count: number, gapMinutes: number, characters = 600): Turn[] =>
	Array.from({ length: count }, () => ({ gapMinutes, characters }));

/** Bursts of work with pauses of 20 minutes between them. */
const PAUSES = Array.from({ length: 6 }, () => [
	...steps(6, 0.5),
	{ gapMinutes: 20, characters: 600 },
]).flat();

describe("a conversation with pauses between five minutes and an hour", () => {
	test("costs less with long entries", () => {
		const own = play(PAUSES, undefined).cost;
		const { cost, ttls } = play(PAUSES, new LiveTtl());
		expect(cost / own).toBeLessThan(0.9);
		expect(ttls.flat()).toContain("1h");
	});

	test("costs still less if earlier sessions had such pauses", { tags: "slow" }, () => {
		const informed = new LiveTtl();
		informed.learn({ requests: 900, between: 45 });
		expect(play(PAUSES, informed).cost).toBeLessThan(play(PAUSES, new LiveTtl()).cost);
	});

	test("keeps its long entry although pruning has set a fourth breakpoint", () => {
		const own = play(PAUSES, undefined, { isPruning: true }).cost;
		const { cost, ttls } = play(PAUSES, new LiveTtl(), { isPruning: true });
		expect(cost / own).toBeLessThan(0.9);
		for (const set of ttls) expect(set.length).toBeLessThanOrEqual(4);
	});
});

test("a conversation without pauses is sent as pi sends it, or costs 1.02 times as much at most", () => {
	const turns = steps(40, 0.5);
	expect(play(turns, new LiveTtl()).cost / play(turns, undefined).cost).toBeLessThanOrEqual(1.02);
});

test("a provider that ignores the lifetime is asked for it once", () => {
	const live = new LiveTtl();
	const own = play(PAUSES, undefined).cost;
	const { cost, ttls } = play(PAUSES, live, { forgets: true });
	expect(live.isRefuted).toBe(true);
	expect(ttls.filter((set) => set.includes("1h"))).toHaveLength(1);
	expect(cost / own).toBeLessThanOrEqual(1.02);
});

describe("a request that fails", () => {
	/** Plays until an hour is asked for; that request is not billed. */
	function untilLong(turns: readonly Turn[], live: LiveTtl) {
		let atMs = 0;
		for (const [at, payload] of bodies(turns).entries()) {
			atMs += (turns[at]?.gapMinutes ?? 0) * MINUTE;
			const pieces = piecesIn(payload);
			const request = { payload, pieces, prefix: MODEL.id, rules: RULES, atMs };
			const sent = live.choose(request);
			if (JSON.stringify(sent ?? {}).includes('"1h"')) return { request };
			live.recordBill({ input: 0, read: 0, write: 1000 * (at + 1), writeOneHour: 0 });
		}
		throw new Error("no request asked for an hour");
	}

	test("with the first long lifetime is the last one to ask for it", () => {
		const live = new LiveTtl();
		const { request } = untilLong(PAUSES, live);
		live.recordFailure();
		expect(live.isRefuted).toBe(true);
		expect(live.choose(request)).toBeUndefined();
	});

	test("proves nothing once a long lifetime was billed, or if it asked for none", () => {
		const live = new LiveTtl();
		live.recordFailure();
		expect(live.isRefuted).toBe(false);
		untilLong(PAUSES, live);
		live.recordBill({ input: 0, read: 0, write: 9000, writeOneHour: 9000 });
		live.recordFailure();
		expect(live.isRefuted).toBe(false);
	});
});

test("a conversation counts as held for an hour while a long entry covers half of it", () => {
	const { ttls, held } = play([...PAUSES, ...steps(1, 0.5, 400_000)], new LiveTtl());
	const long = ttls.findLastIndex((set) => set.includes("1h"));
	expect(held.slice(long, -1)).not.toContain(false);
	expect(ttls.at(-1)).not.toContain("1h");
	expect(held.at(-1)).toBe(false);
});

test("requests that already ask for an hour stay as they are", () => {
	const [body] = bodies(steps(1, 0));
	const payload = JSON.parse(
		JSON.stringify(body).replaceAll('"ephemeral"', '"ephemeral","ttl":"1h"'),
	);
	const pieces = piecesIn(payload);
	const request = { payload, pieces, prefix: MODEL.id, rules: RULES, atMs: 0 };
	expect(new LiveTtl().choose(request)).toBeUndefined();
});

test("no random conversation is refused, or costs more than 1.02 times as much", {
	tags: "slow",
}, () => {
	const turn = fc.record({
		gapMinutes: fc.oneof(
			{ weight: 8, arbitrary: fc.constant(0.2) },
			fc.constantFrom(3, 4.99, 5, 12, 59, 60, 90),
		),
		characters: fc.oneof(fc.constant(800), fc.integer({ min: 0, max: 60_000 })),
		compacts: fc.integer({ min: 0, max: 15 }).map((at) => at === 0),
		pings: fc.integer({ min: 0, max: 9 }).map((at) => at === 0),
	});
	const history = fc.constantFrom({ requests: 0, between: 0 }, { requests: 100, between: 90 });
	fc.assert(
		fc.property(
			fc.array(turn, { minLength: 1, maxLength: 60 }),
			history,
			fc.boolean(),
			fc.boolean(),
			(turns, pauses, isPruning, forgets) => {
				const live = new LiveTtl();
				live.learn(pauses);
				const own = play(turns, undefined, { isPruning }).cost;
				const { cost, ttls } = play(turns, live, { isPruning, forgets });
				expect(cost / own).toBeLessThanOrEqual(1.02);
				for (const set of ttls) expect(new Set(set).size).toBeLessThanOrEqual(1);
			},
		),
		{ numRuns: runs(60) },
	);
});

describe("the pauses of earlier sessions", () => {
	const answer = (timestamp: number) =>
		JSON.stringify({ type: "message", message: { role: "assistant", timestamp, content: [] } });

	test("are counted between answers; lines that are cut off or of others do not count", () => {
		const lines = [
			'ge":{"role":"assistant","timestamp":1}}',
			answer(0),
			JSON.stringify({ type: "message", message: { role: "user", timestamp: 1 } }),
			answer(MINUTE),
			answer(11 * MINUTE),
			answer(200 * MINUTE),
		];
		expect(pausesIn(lines.join("\n"), RULES)).toEqual({ requests: 3, between: 1 });
	});

	test("come from the other files of the folder, and a folder that is missing has none", async () => {
		const folder = tempDir();
		writeFileSync(join(folder, "own.jsonl"), `${answer(0)}\n${answer(10 * MINUTE)}\n`);
		writeFileSync(join(folder, "other.jsonl"), `${answer(0)}\n${answer(10 * MINUTE)}\n`);
		writeFileSync(join(folder, "notes.txt"), `${answer(0)}\n${answer(10 * MINUTE)}\n`);
		const own = join(folder, "own.jsonl");
		expect(await readPauses(folder, own, RULES)).toEqual({ requests: 1, between: 1 });
		expect(await readPauses(join(folder, "missing"), own, RULES)).toEqual({
			requests: 0,
			between: 0,
		});
	});
});

test("only services whose lifetimes are documented are asked for one", () => {
	const can = (fields: object) => {
		const model = { ...MODEL, ...fields };
		return canSetTtl(model, rulesFor(model));
	};
	expect(can({})).toBe(true);
	expect(can({ compat: { supportsLongCacheRetention: false } })).toBe(false);
	expect(can({ provider: "some-gateway" })).toBe(false);
	for (const baseUrl of [
		undefined,
		"",
		"http://127.0.0.1:8080",
		"https://api.anthropic.com.example",
	])
		expect(can({ baseUrl })).toBe(false);
	const behindProxy = { baseUrl: "http://127.0.0.1:8080" };
	expect(can({ ...behindProxy, compat: { supportsLongCacheRetention: true } })).toBe(true);
	expect(can({ provider: "some-gateway", compat: { supportsLongCacheRetention: true } })).toBe(
		true,
	);
	expect(can({ api: "openai-completions" })).toBe(false);
	expect(can({ id: "gpt-5.6", provider: "openai", api: "openai-responses" })).toBe(false);
});
