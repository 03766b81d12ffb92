import { describe, expect, test } from "vitest";
import { CacheSimulator } from "../../src/economy/cache-simulator.ts";
import type { Block, Breakpoint, ModelRequest, Part } from "../../src/economy/model-request.ts";
import { type CacheRules, costOf, rulesFor } from "../../src/economy/rules.ts";
import {
	createLoopbackCache,
	type LoopbackBlock,
	type LoopbackBody,
	loopbackTokens,
} from "../support/loopback-cache.ts";
import { fc } from "../support/property.ts";
import { HOUR, MINUTE, simulate } from "./requests.ts";

/** Small limits, so that short sessions come across them. */
const small = { minimumTokens: 60, lookbackPositions: 3 };
const anthropic = rulesFor({ provider: "anthropic", id: "claude-sonnet-4-5" }, small);
const families: [string, CacheRules][] = [
	["Anthropic", anthropic],
	["OpenAI before GPT-5.6", rulesFor({ provider: "openai", id: "gpt-5.4" }, { minimumTokens: 60 })],
	[
		"OpenAI since GPT-5.6",
		rulesFor({ provider: "openai", id: "gpt-6-sol" }, { minimumTokens: 60 }),
	],
	["DeepSeek", rulesFor({ provider: "deepseek", id: "deepseek-v4-pro" })],
	["the default", rulesFor({ provider: "x", id: "y" }, { minimumTokens: 60, stepTokens: 8 })],
];

/** A session: the conversation grows, is cut back and altered; markers, pauses and models vary. */
function sessions({ gaps = [0, MINUTE, 5 * MINUTE - 1, 5 * MINUTE, HOUR - 1, HOUR] } = {}) {
	const step = fc.record({
		gapMs: fc.constantFrom(...gaps),
		drop: fc.constantFrom(0, 0, 0, 1, 3),
		add: fc.array(fc.nat(2), { maxLength: 6 }),
		alter: fc.option(fc.nat(6), { nil: undefined, freq: 3 }),
		markers: fc.uniqueArray(fc.nat(9), { maxLength: 4 }),
		hours: fc.constantFrom(0, 0, 1, 2, 4),
		model: fc.constantFrom("one", "one", "one", "two"),
	});
	return fc.array(step, { minLength: 2, maxLength: 14 }).map((steps) => {
		let texts: string[] = ["tool", "prompt"];
		let atMs = 0;
		return steps.map(({ gapMs, drop, add, alter, markers, hours, model }): ModelRequest => {
			atMs += gapMs;
			texts = texts.slice(0, Math.max(2, texts.length - drop));
			for (const kind of add) texts.push(SAMPLES[kind] as string);
			if (alter !== undefined && alter < texts.length) texts[alter] += "!";
			const blocks = texts.map((text, index) => blockOf(text, index));
			// Positions are counted from the end, where the markers of real sessions are.
			const places = markers.map((back) => blocks.length - 1 - back).filter((at) => at >= 0);
			const breakpoints = places
				.sort((a, b) => a - b)
				.map((after, order): Breakpoint => ({ after, ttl: order < hours ? "1h" : "5m" }));
			return { atMs, blocks, breakpoints, settings: { model } };
		});
	});
}

const SAMPLES = ["a".repeat(20), "b".repeat(120), "c".repeat(300)];
const PARTS: Part[] = ["tools", "system"];
const made = new Map<string, Block>();

/** What a message's text stands for on the wire, by its first letter. */
const typeOf = (text: string) => TYPES[text[0] as keyof typeof TYPES] ?? "text";
const TYPES = { b: "tool_use", c: "tool_result" };
const RUNS = { b: "calls", c: "results" } as const;

/** A block whose hash is the text that the loopback counts and compares; the same object for the same block. */
function blockOf(text: string, index: number): Block {
	const part = PARTS[index] ?? "messages";
	const known = made.get(`${part} ${text}`);
	if (known) return known;
	const json = JSON.stringify({ type: typeOf(text), text });
	const hash = part === "messages" ? `user ${json}` : json;
	const run = RUNS[text[0] as keyof typeof RUNS];
	const block = { part, hash, tokens: loopbackTokens(hash), label: text, ...(run && { run }) };
	made.set(`${part} ${text}`, block);
	return block;
}

/** The same request as it goes over the wire. */
function bodyOf({ blocks, breakpoints, settings }: ModelRequest): LoopbackBody {
	const wire = (part: Part) =>
		blocks.flatMap((block, index): LoopbackBlock[] => {
			const ttl = breakpoints.find(({ after }) => after === index)?.ttl;
			const marker = ttl && { cache_control: { type: "ephemeral", ttl } };
			const { label: text } = block;
			return block.part === part ? [{ type: typeOf(text), text, ...marker }] : [];
		});
	return {
		model: settings?.model ?? "",
		tools: wire("tools"),
		system: wire("system"),
		messages: [{ role: "user", content: wire("messages") }],
	};
}

test("the simulator and the independent cache of the loopback provider bill every request alike", {
	tags: "slow",
}, () => {
	const seen = { hits: 0, hourWrites: 0, partial: 0 };
	fc.assert(
		fc.property(sessions(), (requests) => {
			const clock = { atMs: 0 };
			const now = () => clock.atMs;
			const { minimumTokens: minTokens, lookbackPositions: lookback } = small;
			const loopback = createLoopbackCache({ minTokens, lookback, now });
			const simulator = new CacheSimulator(anthropic);
			for (const request of requests) {
				clock.atMs = request.atMs;
				const theirs = loopback.bill(bodyOf(request));
				const ours = simulator.send(request);
				expect({
					input: ours.input,
					cacheRead: ours.read,
					cacheWrite: ours.write,
					cacheWrite1h: ours.writeOneHour,
				}).toEqual(theirs);
				if (ours.read > 0) seen.hits++;
				if (ours.read > 0 && ours.write > 0) seen.partial++;
				if (ours.writeOneHour > 0) seen.hourWrites++;
			}
		}),
		{ numRuns: 500, seed: 6 },
	);
	// The sessions are worth something only if the rules come into play in them.
	expect(Math.min(...Object.values(seen))).toBeGreaterThan(150);
});

describe.each(families)("the rules of %s", (_, rules) => {
	test("read, write and input add up to the prompt, and none is negative", () => {
		fc.assert(
			fc.property(sessions(), (requests) => {
				for (const [index, bill] of simulate(requests, rules).entries()) {
					const { blocks = [] } = requests[index] ?? {};
					const prompt = blocks.reduce((sum, { tokens }) => sum + tokens, 0);
					expect(bill.read + bill.write + bill.input).toBe(prompt);
					expect(
						Math.min(bill.read, bill.write, bill.input, bill.writeOneHour),
					).toBeGreaterThanOrEqual(0);
					expect(bill.writeOneHour).toBeLessThanOrEqual(bill.write);
				}
			}),
		);
	});

	test("the same requests are billed the same, whether blocks are the same objects or copies", () => {
		fc.assert(
			fc.property(sessions(), (requests) => {
				const copies = requests.map((request) => structuredClone(request));
				expect(simulate(copies, rules)).toEqual(simulate(requests, rules));
			}),
		);
	});

	test("within one lifetime, more markers never cost more than the premium of what they write", () => {
		fc.assert(
			fc.property(sessions({ gaps: [0, 1] }), fc.array(fc.boolean()), (requests, coin) => {
				const all = requests.map((request) => withShortMarkers(request, rules));
				const fewer = all.map((request, turn) => ({
					...request,
					breakpoints: request.breakpoints.filter(
						(_, marker) => coin[(turn + marker) % coin.length],
					),
				}));
				const few = simulate(fewer, rules);
				for (const [index, many] of simulate(all, rules).entries()) {
					const less = few[index] as typeof many;
					const premium = (rules.writeRatio - 1) * Math.max(0, many.write - less.write);
					expect(many.read).toBeGreaterThanOrEqual(less.read);
					expect(costOf(many, rules)).toBeLessThanOrEqual(costOf(less, rules) + premium + 1e-9);
				}
			}),
		);
	});
});

/** With markers for five minutes only, and no more than leave room for the provider's own. */
function withShortMarkers(request: ModelRequest, { automatic }: CacheRules): ModelRequest {
	const most = automatic === "request" ? 3 : 4;
	const breakpoints = request.breakpoints
		.slice(0, most)
		.map(({ after }): Breakpoint => ({ after, ttl: "5m" }));
	return { ...request, breakpoints };
}
