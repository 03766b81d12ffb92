import { expect, test } from "vitest";
import { callsIn, withClearing } from "../../src/clearing/index.ts";
import { Clearing, clearingStepOf } from "../../src/economy/clearing.ts";
import { costOf, rulesFor } from "../../src/economy/rules.ts";
import { readPayload } from "../../src/wire/index.ts";
import { createLoopbackBinding } from "../support/loopback-binding.ts";
import {
	createLoopbackCache,
	type LoopbackBlock,
	type LoopbackBody,
	type LoopbackMessage,
	loopbackTokens,
} from "../support/loopback-cache.ts";
import { CLEARED_TEXT, clearToolUses } from "../support/loopback-clearing.ts";
import { fc } from "../support/property.ts";

const KEEP = 5;
const MINIMUM = 64;
const PLACEHOLDER_TOKENS = 15;

const event = fc.oneof(
	{
		weight: 60,
		arbitrary: fc.record({
			kind: fc.constant("work" as const),
			sizes: fc.array(fc.constantFrom(1, 40, 400, 3000), { minLength: 1, maxLength: 3 }),
		}),
	},
	{ weight: 6, arbitrary: fc.record({ kind: fc.constant("ask" as const), size: fc.nat(2000) }) },
	{
		weight: 6,
		arbitrary: fc.record({
			kind: fc.constant("wait" as const),
			seconds: fc.constantFrom(20, 299, 301, 3601),
		}),
	},
	{ weight: 3, arbitrary: fc.record({ kind: fc.constant("retry" as const) }) },
	{ weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const) }) },
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant("rewind" as const),
			turns: fc.integer({ min: 1, max: 6 }),
		}),
	},
);

const scenario = fc.record({
	readRatio: fc.constantFrom(0.1, 0.05, 0.025),
	ttl: fc.constantFrom("5m" as const, "1h" as const),
	model: fc.constantFrom("claude-opus-5-5", "claude-opus-4-5"),
	refuses: fc.option(fc.nat(40), { nil: undefined, freq: 3 }),
	events: fc.array(event, { minLength: 10, maxLength: 70 }),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

/** How many requests a scenario has on average, to state the steps of a run. */
export const STEPS_IN_SCENARIO = 40;

export function checkLaws(numRuns: number): void {
	test("whatever happens to a conversation, Q1, Q2 and Q4 hold and no thinking is refused", () => {
		const counts = { requests: 0, clearings: 0, saved: 0 };
		fc.assert(
			fc.property(scenario, (asked) => {
				const play = new Play(asked);
				for (const next of asked.events) play.take(next);
				counts.requests += play.requests;
				counts.clearings += play.clearings;
				counts.saved += play.saved;
			}),
			{ numRuns },
		);
		// The laws say nothing if nothing is cleared.
		expect(counts.clearings).toBeGreaterThan(counts.requests / 100);
		expect(counts.saved).toBeGreaterThan(0);
	});
}

/** A conversation, its engine, and a provider that shares no code with it. */
class Play {
	requests = 0;
	clearings = 0;
	saved = 0;
	readonly #asked: Scenario;
	readonly #rules;
	readonly #clearing = new Clearing({ keep: KEEP });
	readonly #binding = createLoopbackBinding();
	readonly #caches;
	#nowMs = 0;
	#sentMs = 0;
	#messages: LoopbackMessage[] = [{ role: "user", content: [text("Look at this project.")] }];
	/** The last cleared call, and the number of messages when that was decided. */
	#states: { readonly length: number; readonly through: string }[] = [];
	#calls = 0;
	#costs = { own: 0, agent: 0 };
	/** A rewind behind a clearing is written again, which no decision could know. */
	#isBound = true;

	constructor(asked: Scenario) {
		this.#asked = asked;
		const { readRatio, model: id } = asked;
		this.#rules = rulesFor({ provider: "anthropic", id }, { readRatio, minimumTokens: MINIMUM });
		const cache = () =>
			createLoopbackCache({ minTokens: MINIMUM, tokensOf, now: () => this.#nowMs });
		this.#caches = { own: cache(), agent: cache() };
	}

	take(next: Scenario["events"][number]): void {
		if (next.kind === "wait") this.#nowMs += next.seconds * 1000;
		else if (next.kind === "compact") this.#compact();
		else if (next.kind === "rewind") this.#rewind(next.turns);
		else {
			if (next.kind === "work") this.#work(next.sizes);
			else if (next.kind === "ask") this.#say(next.size);
			this.#send();
		}
	}

	#work(sizes: readonly number[]): void {
		const ids = sizes.map(() => `toolu_${this.#calls++}`);
		const calls = ids.map((id) => ({ type: "tool_use", id, name: "read", input: { path: id } }));
		this.#messages.push(
			{ role: "assistant", content: [this.#thought(), ...calls] },
			{
				role: "user",
				content: ids.map((id, at) => ({
					...{ type: "tool_result", tool_use_id: id },
					content: `${id} `.repeat(Math.ceil((sizes[at] ?? 1) / 9)),
				})),
			},
		);
	}

	#say(size: number): void {
		this.#messages.push(
			{ role: "assistant", content: [this.#thought(), text("Done.")] },
			{ role: "user", content: [text("And this? ".repeat(1 + size / 10))] },
		);
	}

	/** Bound to what was sent before it. */
	#thought(): LoopbackBlock {
		const signature = this.#binding.sign(this.#payload());
		return { type: "thinking", thinking: "Hm.", signature };
	}

	#compact(): void {
		this.#messages = [{ role: "user", content: [text(`A summary up to call ${this.#calls}.`)] }];
		this.#states = [];
	}

	#rewind(turns: number): void {
		const length = Math.max(1, this.#messages.length - 2 * turns);
		this.#messages.length = length;
		const states = this.#states.filter((state) => state.length <= length);
		if (states.length < this.#states.length) this.#isBound = false;
		this.#states = states;
	}

	#payload(): LoopbackBody {
		const marker = { type: "ephemeral", ttl: this.#asked.ttl };
		const last = this.#messages.length - 1;
		return {
			model: this.#asked.model,
			system: [{ ...text("You are an agent. ".repeat(200)), cache_control: marker }],
			tools: [{ name: "read", description: "reads", input_schema: { type: "object" } }],
			messages: this.#messages.map(({ role, content }, at) => {
				const blocks = content as LoopbackBlock[];
				const marked = blocks.map((block, b) =>
					b === blocks.length - 1 ? { ...block, cache_control: marker } : block,
				);
				return { role, content: at === last ? marked : blocks };
			}),
		};
	}

	#send(): void {
		this.#nowMs += 5000;
		this.requests++;
		const payload = this.#payload();
		const calls = callsIn(payload) as readonly string[];
		const before = calls.indexOf(this.#states.at(-1)?.through ?? "") + 1;
		const { refuses } = this.#asked;
		const step = clearingStepOf(readPayload(payload)?.pieces ?? [], {
			model: { name: payload.model, rules: this.#rules },
			...{
				atMs: this.#nowMs,
				cold: this.#nowMs - this.#sentMs > this.#rules.ttlMs[this.#asked.ttl],
				cleared: before,
				tokensOf: (bytes) => Math.ceil(bytes / 4),
			},
			stays: (index) => calls[index] === `toolu_${refuses}`,
		});
		const decision = this.#clearing.next(step);
		this.#sentMs = this.#nowMs;
		const { cleared } = decision;
		const sent = (withClearing(payload, cleared, before) ?? payload) as LoopbackBody;
		this.#checkCleared({ calls, cleared, before, sent, payload });
		if (cleared > before) {
			this.clearings++;
			const through = calls[cleared - 1] as string;
			this.#states.push({ length: this.#messages.length, through });
		}
		// Throws if thinking is bound to something else than what is sent.
		const { seen } = clearToolUses(this.#binding.accept(sent).seen);
		const own = this.#caches.own.bill(seen);
		const agent = this.#caches.agent.bill(payload);
		expect(decision.bill).toEqual(billOf(own));
		expect(decision.billOfAgent).toEqual(billOf(agent));
		this.#costs.own += costOf(billOf(own), this.#rules);
		this.#costs.agent += costOf(billOf(agent), this.#rules);
		this.saved = this.#costs.agent - this.#costs.own;
		expect(this.#clearing.costs.own).toBeCloseTo(this.#costs.own, 5);
		if (this.#isBound) expect(this.#costs.own).toBeLessThanOrEqual(1.02 * this.#costs.agent); // Q4
	}

	#checkCleared({ calls, cleared, before, sent, payload }: Cleared): void {
		expect(cleared).toBeGreaterThanOrEqual(before); // Q1: never falls
		if (cleared > before) expect(calls.length - cleared).toBeGreaterThanOrEqual(KEEP);
		const { seen, applied } = clearToolUses(sent);
		expect(applied[0]?.cleared_tool_uses ?? 0).toBe(cleared); // Q2
		// Q1: the first ones, whole messages of them, and nothing else.
		const results = seen.messages.map(({ content }) =>
			(content as LoopbackBlock[]).filter(({ type }) => type === "tool_result"),
		);
		const isCleared = results.flat().map(({ content }) => content === CLEARED_TEXT);
		expect(isCleared.map(Number).join("")).toBe(
			"1".repeat(cleared) + "0".repeat(calls.length - cleared),
		);
		const isMixed = (group: readonly LoopbackBlock[]) =>
			new Set(group.map(({ content }) => content === CLEARED_TEXT)).size > 1;
		expect(results.some(isMixed)).toBe(false);
		const { refuses } = this.#asked;
		if (refuses !== undefined) {
			const at = calls.indexOf(`toolu_${refuses}`);
			if (at >= 0) expect(isCleared[at]).toBe(false);
		}
		// Only a marker and the edit differ from what the agent wrote. Comparing is slow.
		if (this.requests % 8 !== 0 && cleared === before) return;
		const { context_management: _, betas: __, ...rest } = sent;
		expect(unmarked(rest)).toBe(unmarked(payload));
	}
}

interface Cleared {
	readonly calls: readonly string[];
	readonly cleared: number;
	readonly before: number;
	readonly sent: LoopbackBody;
	readonly payload: LoopbackBody;
}

function tokensOf(json: string): number {
	return json.includes(CLEARED_TEXT) ? PLACEHOLDER_TOKENS : loopbackTokens(json);
}

function billOf(usage: ReturnType<ReturnType<typeof createLoopbackCache>["bill"]>) {
	const { input, cacheRead: read, cacheWrite: write, cacheWrite1h: writeOneHour } = usage;
	return { input, read, write, writeOneHour };
}

function text(words: string): LoopbackBlock {
	return { type: "text", text: words };
}

function unmarked(body: object): string {
	return JSON.stringify(body, (key, value) => (key === "cache_control" ? undefined : value));
}
