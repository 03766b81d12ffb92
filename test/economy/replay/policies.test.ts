import { describe, expect, test } from "vitest";
import { type ModelRequest, requestForStep } from "../../../src/economy/index.ts";
import type {
	ReplayPolicy,
	ReplaySession,
	RequestPolicy,
} from "../../../src/economy/replay/index.ts";
import {
	appendOnly,
	pruneBatch,
	pruneEach,
	readCache,
	replayPolicies,
	runPolicy,
	strataPolicy,
} from "../../../src/economy/replay/policies.ts";
import { SessionWriter } from "./session-writer.ts";
import { generateSession, PLAIN, SLOW } from "./workload.ts";

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
		expect(runPolicy(listed("no-cache"), await threeRequests())).toMatchObject({
			cost: 19_000,
			read: 0,
		});
	});

	test("billed: what the file says", async () => {
		const outcome = runPolicy(listed("billed"), await threeRequests());
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

describe("pruning by rule of thumb", () => {
	test("prune-each keeps the ten newest results and breaks the prefix each time", () => {
		const session = generateSession(PLAIN);
		expect(runPolicy(pruneEach, session).cost).toBeGreaterThan(
			1.5 * runPolicy(appendOnly, session).cost,
		);
	});

	test.each([pruneEach, pruneBatch])("$name: what is pruned stays pruned", (policy) => {
		const stubs = new Set<string>();
		for (const { blocks } of requestsOf(policy, generateSession(SLOW))) {
			const now = new Set(blocks.map(({ hash }) => hash));
			expect([...stubs].filter((stub) => !now.has(stub))).toEqual([]);
			for (const hash of now) if (hash.endsWith("~stub")) stubs.add(hash);
		}
		expect(stubs.size).toBeGreaterThan(10);
	});

	test("prune-batch: results that the model has not answered stay, and so do recent ones", () => {
		const small = generateSession({ ...SLOW, resultTokens: 900 });
		const requests = [...requestsOf(pruneBatch, small)];
		for (const { blocks } of requests) {
			const newest = blocks.filter(({ label }) => label.startsWith("result of")).slice(-3);
			expect(newest.some(isStub)).toBe(false);
		}
		expect(requests.at(-1)?.blocks.some(isStub)).toBe(true);
	});
});

describe("strata: the read cache with the policy of another system behind it", () => {
	test("what that policy leaves in the request is not sent again", () => {
		expect(sizesUnder(appendOnly)).toEqual([[2000], [2000, 15], [2000, 15, 15]]);
	});

	test("what it takes out is sent in full when it is read the next time", () => {
		expect(sizesUnder(withoutFirstResult)).toEqual([[2000], [0, 15], [0, 15, 2000]]);
	});

	test("it is told which results stand for text shown before", () => {
		const seen: (true | undefined)[][] = [];
		const watching: RequestPolicy = {
			...appendOnly,
			*requests(session) {
				for (const step of session.steps()) {
					const results = step.blocks.filter(({ result }) => result);
					seen.push(results.map(({ isReference }) => isReference));
					yield requestForStep(step, step.blocks);
				}
			},
		};
		sizesUnder(watching);
		expect(seen).toEqual([[undefined], [undefined, true], [undefined, true, true]]);
	});

	/** From the second request on. */
	const withoutFirstResult: RequestPolicy = {
		...appendOnly,
		*requests(session) {
			for (const step of session.steps()) {
				const first = step.index > 0 ? step.blocks.find(({ result }) => result) : undefined;
				const blocks = step.blocks.map((block) =>
					block === first ? { ...block, hash: "gone", tokens: 0 } : block,
				);
				yield requestForStep(step, blocks);
			}
		},
	};

	/** The sizes of the results in the requests of a session that reads a file of 2000 tokens three times. */
	function sizesUnder(policy: RequestPolicy): number[][] {
		const { steps, ...session } = generateSession({ ...PLAIN, turns: 1, callsPerTurn: 3 });
		const read = { path: "a.ts", window: "+", isWhole: true };
		const same = [...steps()].slice(1).map((step, index) => ({
			...step,
			index,
			blocks: step.blocks.map((block) =>
				block.result
					? { ...block, hash: "text", tokens: 2000, result: { ...block.result, read } }
					: block,
			),
		}));
		const thrice = { ...session, bills: same, steps: () => same };
		return [...strataPolicy(policy).requests(thrice)].map(results);
	}
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
			'policy "lazy" yielded 0 requests, but the session has 180',
		);
	});

	test("has a name of its own", () => {
		expect(new Set(replayPolicies.map(({ name }) => name)).size).toBe(8);
	});
});

function requestsOf(policy: ReplayPolicy, session: ReplaySession): Iterable<ModelRequest> {
	if (!("requests" in policy)) throw new Error(`${policy.name} makes no requests`);
	return policy.requests(session);
}

async function lastRequest(policy: ReplayPolicy, session: ReplaySession): Promise<ModelRequest> {
	return [...requestsOf(policy, session)].at(-1) as ModelRequest;
}

function results({ blocks }: Pick<ModelRequest, "blocks">): number[] {
	return blocks.flatMap(({ label, tokens }) => (label.startsWith("result of") ? [tokens] : []));
}

function isStub({ hash }: { hash: string }): boolean {
	return hash.endsWith("~stub");
}

function listed(name: string): ReplayPolicy {
	return replayPolicies.find((policy) => policy.name === name) as ReplayPolicy;
}
