import { describe, expect, test } from "vitest";
import {
	type ReplayPolicy,
	type ReplaySession,
	type Request,
	rulesFor,
	type Step,
} from "../../../src/economy/index.ts";
import { appendOnly } from "../../../src/economy/replay/policies/append-only.ts";
import { billed } from "../../../src/economy/replay/policies/billed.ts";
import { replayPolicies } from "../../../src/economy/replay/policies/index.ts";
import { noCache } from "../../../src/economy/replay/policies/no-cache.ts";
import { pruneBatch } from "../../../src/economy/replay/policies/prune-batch.ts";
import { pruneEach } from "../../../src/economy/replay/policies/prune-each.ts";
import { readCache } from "../../../src/economy/replay/policies/read-cache.ts";
import { strata } from "../../../src/economy/replay/policies/strata.ts";
import { runPolicy } from "../../../src/economy/replay/policy.ts";
import { SessionWriter } from "./session-writer.ts";
import { generateSession, type Workload, workloads } from "./workload.ts";

const PLAIN: Workload = {
	seed: 1,
	turns: 20,
	callsPerTurn: 8,
	resultTokens: 2500,
	answerTokens: 400,
	pauseSeconds: 45,
	repeats: 0,
	compactAt: Number.POSITIVE_INFINITY,
	contextWindow: undefined,
	readRatio: 0.1,
};

/** Its user often thinks for longer than a cache lives. */
const SLOW: Workload = { ...PLAIN, pauseSeconds: 400 };

describe("the policies that send pi's own requests", () => {
	test("append-only: each request reads what the one before it wrote", async () => {
		const { input, read, write, cost, maxContext } = runPolicy(appendOnly, await threeRequests());
		expect({ input, read, write, maxContext }).toEqual({
			input: 0,
			read: 5000 + 6000,
			write: 5000 + 1000 + 2000,
			maxContext: 8000,
		});
		expect(cost).toBeCloseTo(0.1 * 11_000 + 1.25 * 8000);
	});

	test("no-cache: everything is plain input", async () => {
		expect(runPolicy(noCache, await threeRequests())).toMatchObject({ cost: 19_000, read: 0 });
	});

	test("billed: what the file says", async () => {
		const outcome = runPolicy(billed, await threeRequests());
		expect(outcome).toMatchObject({ read: 5000, write: 14_000, input: 0 });
		expect(outcome.cost).toBeCloseTo(0.1 * 5000 + 1.25 * 14_000);
	});

	/** The third request missed. */
	async function threeRequests(): Promise<ReplaySession> {
		const writer = new SessionWriter();
		writer.user("a");
		writer.assistant("b", { cacheWrite: 5000 });
		writer.user("c");
		writer.assistant("d", { cacheRead: 5000, cacheWrite: 1000 });
		writer.user("e");
		writer.assistant("f", { cacheWrite: 8000 });
		return writer.replay();
	}
});

describe("read-cache", () => {
	const text = Array.from({ length: 200 }, (_, i) => `line ${i} of the file`).join("\n");

	test("a file that was read again as it was costs a marker", async () => {
		const sizes = await resultSizes([text, text]);
		expect(sizes).toEqual([1000, 15]);
	});

	test("a file of which a line changed costs a small diff", async () => {
		const [first, second] = await resultSizes([text, text.replace("line 7 ", "LINE 7 ")]);
		expect(first).toBe(1000);
		expect(second).toBe(15 + 20);
	});

	test("a file that is another one by now is sent in full", async () => {
		expect(await resultSizes([text, text.replaceAll("line", "LINE")])).toEqual([1000, 1000]);
	});

	test("nothing is said to be known that a compaction has removed", async () => {
		expect(await resultSizes([text, text], { compacted: true })).toEqual([1000]);
	});

	/** The sizes of the results in the last request; each was billed 1000 tokens. */
	async function resultSizes(texts: string[], { compacted = false } = {}): Promise<number[]> {
		const writer = new SessionWriter();
		writer.user("read");
		let prompt = 5000;
		for (const [at, content] of texts.entries()) {
			const call = writer.call(`c${at}`, "read", { path: "a.ts" });
			if (compacted && at === texts.length - 1) {
				const id = `e${at * 100}`;
				writer.entry("compaction", { id, summary: "s", firstKeptEntryId: id });
				writer.leaf = id;
				prompt = 5000;
			}
			writer.assistant([call], { cacheWrite: prompt, output: 10 });
			writer.result(`c${at}`, "read", content);
			prompt += 1010;
		}
		writer.assistant("done", { cacheWrite: prompt });
		return results(await lastRequest(readCache, await writer.replay()));
	}
});

describe("pruning", () => {
	test("prune-each keeps the ten newest results and breaks the prefix each time", () => {
		const session = generateSession(PLAIN);
		expect(runPolicy(pruneEach, session).cost).toBeGreaterThan(
			1.5 * runPolicy(appendOnly, session).cost,
		);
	});

	test.each([pruneEach, pruneBatch, strata])("$name: what is pruned stays pruned", (policy) => {
		const stubs = new Set<string>();
		for (const { blocks } of requestsOf(policy, generateSession(SLOW))) {
			const now = new Set(blocks.map(({ hash }) => hash));
			expect([...stubs].filter((stub) => !now.has(stub))).toEqual([]);
			for (const hash of now) if (hash.endsWith("~stub")) stubs.add(hash);
		}
		expect(stubs.size).toBeGreaterThan(10);
	});

	test.each([pruneBatch, strata])(
		"$name: results that the model has not answered stay, and so do recent ones",
		(policy) => {
			const small = generateSession({ ...SLOW, resultTokens: 900 });
			const requests = [...requestsOf(policy, small)];
			for (const { blocks } of requests) {
				const newest = blocks.filter(({ label }) => label.startsWith("result of")).slice(-3);
				expect(newest.some(isStub)).toBe(false);
			}
			expect(requests.at(-1)?.blocks.some(isStub)).toBe(true);
		},
	);
});

describe("strata", () => {
	test("keeps errors and images", () => {
		const session = generateSession(SLOW);
		const kept = { tool: "read", isError: true, hasImage: false };
		const steps = [...session.steps()].map((step) => ({
			...step,
			blocks: step.blocks.map((block) => (block.result ? { ...block, result: kept } : block)),
		}));
		const outcome = runPolicy(strata, { ...session, steps: () => steps });
		expect(outcome.cost).toBe(runPolicy(appendOnly, session).cost);
	});

	test("sends pi's own requests at exactly their price when there is nothing to gain", () => {
		for (const workload of [
			{ ...PLAIN, callsPerTurn: 0 },
			{ ...PLAIN, turns: 2, callsPerTurn: 2 },
			{ ...PLAIN, resultTokens: 20 },
		]) {
			const session = generateSession(workload);
			const { cost } = runPolicy(strata, session);
			expect(cost).toBe(runPolicy(appendOnly, session).cost);
		}
	});

	test("prunes for free while the cache is cold", () => {
		const slow = generateSession(SLOW);
		const requests = [...requestsOf(strata, slow)];
		const pruned = requests.map(({ blocks }) => blocks.filter(isStub).length);
		const growths = pruned.flatMap((count, at) => (count > (pruned[at - 1] ?? 0) ? [at] : []));
		expect(growths.some((at) => gapBefore(requests, at) >= 300_000)).toBe(true);
		expect(runPolicy(strata, slow).cost).toBeLessThan(0.8 * runPolicy(appendOnly, slow).cost);
	});

	test("does not take a cache for cold that another thinking level leaves alone", () => {
		const session = generateSession(PLAIN);
		const rules = rulesFor({ provider: "openai", id: "gpt-5.6" });
		const costWith = (changes: Step["changes"]) => {
			const steps = [...session.steps()].map((step) => {
				return { ...step, changes, model: { ...step.model, rules } };
			});
			return runPolicy(strata, { ...session, bills: steps, steps: () => steps }).cost;
		};
		expect(costWith(new Set(["thinking"]))).toBe(costWith(new Set()));
	});

	test.each([0.1, 0.05, 0.025])(
		"pays on the whole and never costs more than two percent, with reads at %f of the input",
		(readRatio) => {
			const ratios = workloads(readRatio).map((workload) => {
				const session = generateSession(workload);
				return runPolicy(strata, session).cost / runPolicy(appendOnly, session).cost;
			});
			expect(Math.max(...ratios)).toBeLessThanOrEqual(1.02);
			expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).toBeLessThan(0.9);
		},
		20_000,
	);

	test("prunes whatever it costs before the context window is full", () => {
		const session = generateSession({
			...PLAIN,
			turns: 1,
			callsPerTurn: 60,
			contextWindow: 100_000,
		});
		expect(runPolicy(appendOnly, session).maxContext).toBeGreaterThan(100_000);
		expect(runPolicy(strata, session).maxContext).toBeLessThan(90_000);
	});

	test("a session that ends at any request has cost no more than two percent too much", () => {
		const session = generateSession({ ...PLAIN, readRatio: 0.05 });
		const pis = runPolicy(appendOnly, session);
		const own = runPolicy(strata, session);
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
});

describe("a policy of another system", () => {
	test("is run like ours", () => {
		const mine: ReplayPolicy = { ...appendOnly, name: "mine" };
		const session = generateSession(PLAIN);
		expect(runPolicy(mine, session).cost).toBe(runPolicy(appendOnly, session).cost);
	});

	test("must make every request", () => {
		const lazy: ReplayPolicy = { name: "lazy", description: "", requests: () => [] };
		expect(() => runPolicy(lazy, generateSession(PLAIN))).toThrow(
			'policy "lazy" made 0 of 180 requests',
		);
	});

	test("has a name of its own", () => {
		expect(new Set(replayPolicies.map(({ name }) => name)).size).toBe(7);
	});
});

function requestsOf(policy: ReplayPolicy, session: ReplaySession): Iterable<Request> {
	if (!("requests" in policy)) throw new Error(`${policy.name} makes no requests`);
	return policy.requests(session);
}

async function lastRequest(policy: ReplayPolicy, session: ReplaySession): Promise<Request> {
	return [...requestsOf(policy, session)].at(-1) as Request;
}

function results({ blocks }: Pick<Request, "blocks">): number[] {
	return blocks.flatMap(({ label, tokens }) => (label.startsWith("result of") ? [tokens] : []));
}

function isStub({ hash }: { hash: string }): boolean {
	return hash.endsWith("~stub");
}

function gapBefore(requests: readonly Request[], at: number): number {
	return (requests[at]?.atMs ?? 0) - (requests[at - 1]?.atMs ?? 0);
}
