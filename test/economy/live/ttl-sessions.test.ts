/** The live choice of lifetimes on generated sessions, billed by the simulator. */
import { expect, test } from "vitest";
import { CacheSimulator, requestForStep } from "../../../src/economy/index.ts";
import { LiveTtl } from "../../../src/economy/live/ttl.ts";
import type { ReplaySession, Step } from "../../../src/economy/replay/index.ts";
import { costOf } from "../../../src/economy/rules.ts";
import { fc, runs } from "../../support/property.ts";
import { generateSession, PLAIN, SLOW } from "../replay/workload.ts";

type Block = { cache_control?: { type: string; ttl?: string } };

/** What the session costs with the live choice, relative to pi's own requests. */
function ratioOf(session: ReplaySession, live = new LiveTtl()): number {
	let [cost, own] = [0, 0];
	const caches = new Map<string, CacheSimulator>();
	for (const step of session.steps()) {
		const { rules } = step.model;
		const send = (name: string, request: Parameters<CacheSimulator["send"]>[0]) => {
			const cache = caches.get(name) ?? new CacheSimulator(rules);
			caches.set(name, cache);
			return cache.send(request);
		};
		const request = requestForStep({ ...step, ttl: "5m" }, step.blocks);
		const breakpoints = chosen(live, step, request.breakpoints);
		const tokens = send("live", { ...request, breakpoints });
		live.recordBill(tokens);
		cost += costOf(tokens, rules);
		own += costOf(send("own", request), rules);
	}
	return cost / own;
}

/** The breakpoints that the live choice leaves in a payload of as many blocks. */
function chosen(live: LiveTtl, step: Step, own: readonly { after: number }[]) {
	const marked = new Set(own.map(({ after }) => after));
	const blocks = step.blocks.map((_, at) => ({
		type: "text",
		text: "x",
		...(marked.has(at) && { cache_control: { type: "ephemeral" } }),
	}));
	const of = (part: string) => blocks.filter((_, at) => step.blocks[at]?.part === part);
	const payload = {
		tools: of("tools"),
		system: of("system"),
		messages: [{ role: "user", content: of("messages") }],
	};
	const pieces = step.blocks.map(({ part, hash: block, tokens: size }, at) => {
		return { part, block, size, ...(marked.has(at) && { breakpoint: "5m" as const }) };
	});
	const { rules, name } = step.model;
	const prefix = name.id;
	const changed = live.choose({
		payload,
		pieces,
		prefix,
		rules,
		atMs: step.atMs,
	}) as typeof payload;
	const { tools, system, messages } = changed ?? payload;
	const sent: Block[] = [...tools, ...system, ...(messages[0]?.content ?? [])];
	return sent.flatMap(({ cache_control: control }, after) => {
		return control
			? [{ after, ttl: control.ttl === "1h" ? ("1h" as const) : ("5m" as const) }]
			: [];
	});
}

test("pauses between the two lifetimes cost less", { tags: "slow" }, () => {
	expect(ratioOf(generateSession(SLOW))).toBeLessThan(0.9);
});

test("no session costs more than 1.02 times as much, whenever it ends and whatever was learned", () => {
	const shape = fc.record({
		seed: fc.nat(1000),
		turns: fc.integer({ min: 1, max: 12 }),
		pauseSeconds: fc.constantFrom(45, 280, 400, 2000, 4000),
		resultTokens: fc.constantFrom(200, 2500, 9000),
		compactAt: fc.constantFrom(60_000, Number.POSITIVE_INFINITY),
		readRatio: fc.constantFrom(0.1, 0.05, 0.025),
	});
	const learned = fc.record({ requests: fc.constant(200), between: fc.nat(60) });
	fc.assert(
		fc.property(shape, learned, (workload, pauses) => {
			const live = new LiveTtl();
			live.learn(pauses);
			expect(ratioOf(generateSession({ ...PLAIN, ...workload }), live)).toBeLessThanOrEqual(1.02);
		}),
		{ numRuns: runs(40) },
	);
});
