import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../../../src/economy/index.ts";
import type { ReplayPolicy, ReplaySession } from "../../../src/economy/replay/index.ts";
import { replayPolicies, runPolicy } from "../../../src/economy/replay/index.ts";
import { tiersPolicy } from "../../../src/tiers/replay-policy.ts";
import { logPolicy } from "../../../src/workset/index.ts";
import { generateSession, type Workload } from "../../economy/replay/workload.ts";

const appendOnly = replayPolicies.find(({ name }) => name === "append-only") as ReplayPolicy;

const TOOL_LOOP: Workload = {
	seed: 1,
	turns: 6,
	callsPerTurn: 8,
	resultTokens: 2500,
	answerTokens: 300,
	pauseSeconds: 60,
	repeats: 0,
	compactAt: Number.POSITIVE_INFINITY,
	contextWindow: 200_000,
	readRatio: 0.1,
};

describe("the policy log", () => {
	test.each([1, 2, 3])("makes exactly pi's requests (session %i)", (seed) => {
		const session = generateSession({ ...TOOL_LOOP, seed, repeats: 0.3, compactAt: 60_000 });
		expect(requestsUnder(logPolicy, session)).toEqual(requestsUnder(appendOnly, session));
	});
});

describe("the policy tiers", () => {
	test("sends all that pi sends, once", () => {
		const session = generateSession(TOOL_LOOP);
		const pis = requestsUnder(appendOnly, session);
		for (const [at, { blocks }] of requestsUnder(tiersPolicy(), session).entries()) {
			expect(tokensOf(blocks)).toBe(tokensOf(pis[at]?.blocks ?? []));
		}
	});

	test("sends a file that was read again only once", () => {
		const session = generateSession({ ...TOOL_LOOP, repeats: 0.5 });
		const last = requestsUnder(tiersPolicy(), session).at(-1)?.blocks ?? [];
		const pis = requestsUnder(appendOnly, session).at(-1)?.blocks ?? [];
		expect(tokensOf(last)).toBeLessThan(tokensOf(pis) - 5000);
	});

	test("marks each tier, and nothing behind them", () => {
		const requests = requestsUnder(tiersPolicy(), generateSession(TOOL_LOOP));
		for (const { blocks, breakpoints } of requests) {
			const cached = blocks.findLastIndex(({ label }) => /^L\d$/.test(label));
			expect(breakpoints.length).toBeLessThanOrEqual(4);
			expect(breakpoints.at(-1)?.after).toBe(cached === -1 ? 1 : cached);
		}
		const labels = requests.at(-1)?.blocks.map(({ label }) => label) ?? [];
		expect(labels.filter((label) => /^L\d$/.test(label)).length).toBeGreaterThan(1);
	});

	test("costs several times what appending costs in a loop of tools", () => {
		const session = generateSession(TOOL_LOOP);
		const ratio = runPolicy(tiersPolicy(), session).cost / runPolicy(appendOnly, session).cost;
		expect(ratio).toBeGreaterThan(2);
	});

	test("keeps all history active when there is no target", () => {
		const session = generateSession(TOOL_LOOP);
		const isInTier = ({ label }: { label: string }) => label.startsWith("L");
		const last = requestsUnder(tiersPolicy({ cacheMinTokens: 0 }), session).at(-1);
		const files = session.bills.length;
		expect(last?.blocks.filter((block) => !isInTier(block)).length).toBeGreaterThan(files);
	});
});

function requestsUnder(policy: ReplayPolicy, session: ReplaySession): ModelRequest[] {
	if (!("requests" in policy)) throw new Error(`${policy.name} makes no requests`);
	return [...policy.requests(session)];
}

function tokensOf(blocks: readonly { readonly tokens: number }[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
