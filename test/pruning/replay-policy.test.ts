import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../../src/economy/index.ts";
import type { ReplaySession, Step } from "../../src/economy/replay/index.ts";
import { runPolicy, strataPolicy } from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import { pruningPolicy } from "../../src/pruning/replay-policy.ts";
import { generateSession, PLAIN, SLOW, workloads } from "../economy/replay/workload.ts";

const pruning = pruningPolicy({ keepRecentTurns: 2, maxToolChars: 1200, adaptive: true });
const strata = strataPolicy(pruning);

test.each([0.1, 0.05, 0.025])(
	"pruning and strata save on the whole and make no session dearer by two percent, with reads at %f of the input",
	{ tags: "slow" },
	(readRatio) => {
		const ratios = workloads(readRatio).map((workload) => {
			const session = generateSession(workload);
			const before = runPolicy(appendOnly, session);
			return [pruning, strata].map((policy) => {
				const after = runPolicy(policy, session);
				expect(after.maxContext).toBeLessThanOrEqual(before.maxContext);
				return after.cost / before.cost;
			}) as [number, number];
		});
		expect(Math.max(...ratios.flat())).toBeLessThanOrEqual(1.02);
		const mean = (at: 0 | 1) => ratios.reduce((sum, pair) => sum + pair[at], 0) / ratios.length;
		expect(mean(0)).toBeLessThan(0.95);
		expect(mean(1)).toBeLessThan(0.9);
	},
);

describe.each([pruning, strata])("$name", (policy) => {
	test("a session that ends at any request has cost no more than two percent too much", () => {
		const session = generateSession({ ...PLAIN, readRatio: 0.05 });
		const pis = runPolicy(appendOnly, session);
		const own = runPolicy(policy, session);
		const price = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" }, { readRatio: 0.05 });
		const costOf = ({ input, read, write }: { input: number; read: number; write: number }) =>
			input + read * price.readRatio + write * price.writeRatio;
		let [spent, spentByPi] = [0, 0];
		for (const [at, request] of own.requests.entries()) {
			spent += costOf(request);
			spentByPi += costOf(pis.requests[at] as typeof request);
			expect(spent / spentByPi).toBeLessThanOrEqual(1.02);
		}
	});

	test("sends pi's own requests at exactly their price when there is nothing to gain", () => {
		for (const workload of [
			{ ...PLAIN, turns: 0 },
			{ ...PLAIN, callsPerTurn: 0 },
			{ ...PLAIN, turns: 2, callsPerTurn: 2 },
			{ ...PLAIN, resultTokens: 20 },
		]) {
			const session = generateSession(workload);
			expect(runPolicy(policy, session).cost).toBe(runPolicy(appendOnly, session).cost);
		}
	});

	test("what is pruned stays pruned", () => {
		const stubs = new Set<string>();
		for (const { blocks } of policy.requests(generateSession(SLOW))) {
			const now = new Set(blocks.map(({ hash }) => hash));
			expect([...stubs].filter((stub) => !now.has(stub))).toEqual([]);
			for (const hash of now) if (hash.endsWith("~stub")) stubs.add(hash);
		}
		expect(stubs.size).toBeGreaterThan(10);
	});

	test("results that the model has not answered stay, and so do recent ones", () => {
		const requests = [...policy.requests(generateSession({ ...SLOW, resultTokens: 900 }))];
		for (const { blocks } of requests) {
			const newest = blocks.filter(({ label }) => label.startsWith("result of")).slice(-3);
			expect(newest.some(isStub)).toBe(false);
		}
		expect(requests.at(-1)?.blocks.some(isStub)).toBe(true);
	});

	test.each([{ isError: true }, { hasImage: true }])("keeps results with %o", (facts) => {
		const kept = { tool: "read", isError: false, hasImage: false, ...facts };
		const session = withSteps(generateSession(SLOW), (step) => ({
			...step,
			blocks: step.blocks.map((block) => (block.result ? { ...block, result: kept } : block)),
		}));
		expect(runPolicy(policy, session).cost).toBe(runPolicy(appendOnly, session).cost);
	});

	test("prunes for free while the cache is cold", () => {
		const slow = generateSession(SLOW);
		const requests = [...policy.requests(slow)];
		const pruned = requests.map(({ blocks }) => blocks.filter(isStub).length);
		const growths = pruned.flatMap((count, at) => (count > (pruned[at - 1] ?? 0) ? [at] : []));
		expect(growths.some((at) => gapBefore(requests, at) >= 300_000)).toBe(true);
		expect(runPolicy(policy, slow).cost).toBeLessThan(0.8 * runPolicy(appendOnly, slow).cost);
	});

	test("does not take a cache for cold that another thinking level leaves alone", () => {
		const rules = rulesFor({ provider: "openai", id: "gpt-5.6" });
		const costWith = (changes: Step["changes"]) => {
			const session = withSteps(generateSession(PLAIN), (step) => {
				return { ...step, changes, model: { ...step.model, rules } };
			});
			return runPolicy(policy, session).cost;
		};
		expect(costWith(new Set(["thinking"]))).toBe(costWith(new Set()));
	});

	test("takes the cache for cold when the system prompt changes, as when the tools do", () => {
		const stubsWith = (change: "system" | "tools" | "edit" | "branch") => {
			const session = withSteps(generateSession(PLAIN), (step) => ({
				...step,
				changes: new Set(step.index === 60 ? [change] : []),
			}));
			const requests = [...policy.requests(session)];
			return requests.slice(59, 61).map(({ blocks }) => blocks.filter(isStub).length);
		};
		const [before, after] = stubsWith("tools");
		expect(after).toBeGreaterThan(before as number);
		expect(stubsWith("system")).toEqual([before, after]);
		expect(stubsWith("edit")).toEqual([before, before]);
		// Another branch begins with what is in the cache.
		expect(stubsWith("branch")).toEqual([before, before]);
	});

	test("takes results as large as a bill makes them", () => {
		const session = withSteps(generateSession({ ...PLAIN, turns: 5 }), (step) => ({
			...step,
			blocks: step.blocks.map((block) => (block.result ? { ...block, tokens: 1e12 } : block)),
		}));
		const own = runPolicy(policy, session);
		expect(own.cost).toBeLessThan(0.5 * runPolicy(appendOnly, session).cost);
	});

	test("edits nothing that thinking is bound to, but right after a compaction", () => {
		const thinking = withSteps(generateSession({ ...SLOW, readRatio: 0.05 }), (step) => ({
			...step,
			changes: new Set(step.index === 60 ? (["compaction"] as const) : []),
			blocks: step.blocks.map((block) =>
				block.kind === "text" || block.kind === "call" ? { ...block, kind: "thinking" } : block,
			),
		}));
		const stubsWith = (bindsThinking: boolean) => {
			const session = withSteps(thinking, ({ model, ...step }) => ({
				...step,
				model: { ...model, rules: { ...model.rules, bindsThinking } },
			}));
			return [...policy.requests(session)].map(({ blocks }) => blocks.filter(isStub).length);
		};
		const bound = stubsWith(true);
		expect(Math.max(...stubsWith(false).slice(0, 60))).toBeGreaterThan(0);
		expect(Math.max(...bound.slice(0, 60))).toBe(0);
		expect(bound[60]).toBeGreaterThan(0);
		expect(new Set(bound.slice(60))).toEqual(new Set([bound[60]]));
	});

	test("leaves alone what the thinking of another model is bound to", () => {
		const session = withSteps(generateSession({ ...SLOW, readRatio: 0.05 }), (step) => ({
			...step,
			blocks: step.blocks.map((block) =>
				block.kind === "text" ? { ...block, kind: "thinking" } : block,
			),
			model: {
				...step.model,
				rules: { ...step.model.rules, bindsThinking: step.index < 60 },
			},
		}));
		const sent = [...policy.requests(session)].map(({ blocks }) => blocks);
		const bound = [...session.steps()][60]?.blocks.length ?? 0;
		expect(bound).toBeGreaterThan(60);
		for (const blocks of sent) expect(blocks.slice(0, bound - 10).filter(isStub)).toEqual([]);
		expect(sent.at(-1)?.filter(isStub).length).toBeGreaterThan(0);
	});

	test("prunes whatever it costs before the context window is full", () => {
		const session = generateSession({
			...PLAIN,
			turns: 1,
			callsPerTurn: 60,
			contextWindow: 100_000,
		});
		expect(runPolicy(appendOnly, session).maxContext).toBeGreaterThan(100_000);
		expect(runPolicy(policy, session).maxContext).toBeLessThan(90_000);
	});
});

test("strata sends a marker only together with the text it stands for, and pruned text in full again", () => {
	// Each request finds the cache cold, so that results go as soon as they may.
	const session = withSteps(generateSession({ ...PLAIN, repeats: 0.5 }), (step) => ({
		...step,
		atMs: step.index * 3_600_000,
	}));
	const count = { markers: 0, inFull: 0 };
	let length = 0;
	for (const { blocks } of strata.requests(session)) {
		const hashes = blocks.map(({ hash }) => hash);
		for (const hash of hashes.slice(length)) {
			const isMarker = hash.endsWith("~read");
			if (isMarker) expect(hashes).toContain(hash.replace("~read", ""));
			if (isMarker) count.markers++;
			else if (hashes.includes(`${hash}~stub`)) count.inFull++;
		}
		length = hashes.length;
	}
	expect(count.markers).toBeGreaterThan(10);
	expect(count.inFull).toBeGreaterThan(10);
});

function withSteps(session: ReplaySession, change: (step: Step) => Step): ReplaySession {
	const steps = [...session.steps()].map(change);
	return { ...session, bills: steps, steps: () => steps };
}

function isStub({ hash }: { hash: string }): boolean {
	return hash.endsWith("~stub");
}

function gapBefore(requests: readonly ModelRequest[], at: number): number {
	return (requests[at]?.atMs ?? 0) - (requests[at - 1]?.atMs ?? 0);
}
