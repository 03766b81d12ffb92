import { describe, expect, test } from "vitest";
import { withBirth } from "../../../src/birth/replay-policy.ts";
import {
	appendOnly,
	clearing,
	type ReplaySession,
	type RequestPolicy,
	runPolicy,
	type SessionBlock,
	ttlAuto,
} from "../../../src/economy/replay/index.ts";
import { costOf, rulesFor } from "../../../src/economy/rules.ts";
import { fc, runs } from "../../support/property.ts";
import { generateSession, PLAIN, SLOW, workloads } from "./workload.ts";

/** Of each request: which results are cleared, oldest first. */
function clearedIn(session: ReplaySession, policy: RequestPolicy = clearing): boolean[][] {
	return Array.from(policy.requests(session), ({ blocks }) =>
		(blocks as readonly SessionBlock[])
			.filter(({ kind }) => kind === "result")
			.map(({ hash }) => hash.endsWith("~cleared")),
	);
}

describe("clearing", () => {
	test("clears the oldest results first, in few batches, and never the newest five", () => {
		const requests = clearedIn(generateSession({ ...PLAIN, turns: 30 }));
		const counts = requests.map((results) => {
			const kept = results.indexOf(false);
			expect(results.slice(kept)).not.toContain(true);
			return kept === -1 ? results.length : kept;
		});
		expect(counts).toEqual(counts.toSorted((a, b) => a - b)); // none returns
		requests.forEach((results, at) => {
			expect(results.length - (counts[at] ?? 0)).toBeGreaterThanOrEqual(
				Math.min(5, results.length),
			);
		});
		const batches = new Set(counts).size - 1;
		expect(batches).toBeGreaterThan(1);
		expect(batches).toBeLessThan(requests.length / 10);
	});

	test("saves in a long session", () => {
		const session = generateSession({ ...PLAIN, turns: 30 });
		expect(runPolicy(clearing, session).cost).toBeLessThan(
			0.85 * runPolicy(appendOnly, session).cost,
		);
	});

	test("works where thinking is bound to what was sent", () => {
		const session = ofModel(
			generateSession({ ...SLOW, turns: 30 }),
			"anthropic",
			"claude-opus-5-5",
		);
		expect(clearedIn(session).at(-1)).toContain(true);
	});

	test("leaves other providers' requests as they are", () => {
		const session = ofModel(generateSession({ ...PLAIN, turns: 30 }), "openai", "gpt-5.6");
		expect([...clearing.requests(session)]).toEqual([...appendOnly.requests(session)]);
	});

	test("a result that refers to another is not cleared after it", () => {
		// Every fifth result refers to the very first one, then no more: the first stays until they can go.
		const session = referring(
			generateSession({ ...PLAIN, turns: 30 }),
			(at) => at % 5 === 0 && at < 120,
		);
		expect(referencesIn(session, clearing).dangling).toBe(0);
		expect(clearedIn(session).at(-1)).toContain(true);
	});

	test("asks for no more references where they are in the way of a batch that pays", () => {
		let sealed = 0;
		const session = referring(generateSession({ ...PLAIN, turns: 30 }), (at) => at % 5 === 0);
		runPolicy(clearing, { ...session, sealResults: () => void sealed++ });
		expect(sealed).toBeGreaterThan(0);
	});
});

describe("clearing at any request", () => {
	const worst = (session: ReplaySession) => {
		const base = runPolicy(appendOnly, session).requests;
		const own = runPolicy(clearing, session).requests;
		let [cost, costOfPis, ratio] = [0, 0, 0];
		for (const [at, tokens] of own.entries()) {
			const rules = (session.bills[at] as ReplaySession["bills"][number]).model.rules;
			cost += costOf(tokens, rules);
			costOfPis += costOf(base[at] as typeof tokens, rules);
			ratio = Math.max(ratio, cost / costOfPis);
		}
		return ratio;
	};

	test("has cost at most 2 % more so far: any of them may be the last", () => {
		const shape = fc.record({
			seed: fc.nat(1000),
			turns: fc.integer({ min: 2, max: 20 }),
			pauseSeconds: fc.constantFrom(5, 45, 280, 400),
			resultTokens: fc.constantFrom(200, 2500, 9000),
		});
		const readRatio = fc.constantFrom(0.1, 0.05, 0.025);
		fc.assert(
			fc.property(shape, readRatio, (own, ratio) => {
				const session = generateSession({ ...PLAIN, ...own, readRatio: ratio });
				expect(worst(session)).toBeLessThanOrEqual(1.02);
			}),
			{ numRuns: runs(20) },
		);
	});

	test.each([0.1, 0.05, 0.025])(
		"also at a price of reads of %d, in generated sessions",
		{
			tags: "slow",
		},
		(ratio) => {
			for (const workload of workloads(ratio)) {
				expect(worst(generateSession(workload))).toBeLessThanOrEqual(1.02);
			}
		},
	);
});

describe.each([
	["clearing", clearing],
	["ttl-auto", ttlAuto],
])("%s is never dearer by more than 2 %", (_, policy) => {
	test.each([0.1, 0.05, 0.025])("on generated sessions, reads at %d", { tags: "slow" }, (ratio) => {
		for (const workload of workloads(ratio)) {
			const session = generateSession(workload);
			expect(runPolicy(policy, session).cost).toBeLessThanOrEqual(
				1.02 * runPolicy(appendOnly, session).cost,
			);
		}
	});

	test("whenever the session ends", () => {
		const at = fc.record({
			seed: fc.nat(1000),
			turns: fc.integer({ min: 1, max: 12 }),
			pauseSeconds: fc.constantFrom(45, 280, 400, 2000, 4000),
			resultTokens: fc.constantFrom(200, 2500, 9000),
			ttl: fc.constantFrom("5m" as const, "1h" as const),
		});
		fc.assert(
			fc.property(at, ({ ttl, ...shape }) => {
				const session = generateSession({ ...PLAIN, ...shape });
				const steps = Array.from(session.steps(), (step) => ({ ...step, ttl }));
				const own = { ...session, steps: () => steps };
				const base = runPolicy(appendOnly, own).cost;
				expect(runPolicy(policy, own).cost).toBeLessThanOrEqual(1.02 * base);
			}),
			{ numRuns: runs(30) },
		);
	});
});

describe("ttl-auto", () => {
	const cost = (policy: RequestPolicy, session: ReplaySession) => runPolicy(policy, session).cost;

	test("pauses between the two lifetimes make it cache for the long one", () => {
		expect(cost(ttlAuto, generateSession(SLOW))).toBeLessThan(
			0.9 * cost(appendOnly, generateSession(SLOW)),
		);
	});

	test("without pauses it caches for the short lifetime, also where the agent pays for the long one", () => {
		const session = generateSession(PLAIN);
		const steps = Array.from(session.steps(), (step) => ({ ...step, ttl: "1h" as const }));
		const long = { ...session, steps: () => steps };
		expect(cost(ttlAuto, long)).toBeLessThan(cost(appendOnly, long));
	});

	test("leaves requests alone where no document offers a choice", () => {
		for (const [provider, id] of [
			["openai", "gpt-5.4"],
			["google", "gemini-3-pro"],
			["zai", "glm-5.2"],
		] as const) {
			const session = ofModel(generateSession(SLOW), provider, id);
			expect([...ttlAuto.requests(session)]).toEqual([...appendOnly.requests(session)]);
		}
	});

	test("a request has at most four breakpoints, the long-lived ones first", () => {
		for (const { breakpoints } of ttlAuto.requests(generateSession(SLOW))) {
			expect(breakpoints.length).toBeLessThanOrEqual(4);
			const ttls = breakpoints.map(({ ttl }) => ttl);
			expect(ttls).toEqual(ttls.toSorted()); // "1h" sorts before "5m"
		}
	});
});

describe("birth within another policy", () => {
	test("refers to no result that was cleared", () => {
		const text = Array.from({ length: 120 }, (_, line) => `line ${line} of a file with words`).join(
			"\n",
		);
		const session = generateSession({ ...PLAIN, turns: 30, repeats: 0.3 });
		const both = withBirth(clearing, { name: "both", description: "" }, (result) => ({
			callId: "",
			input: { path: result.read?.path },
			text: `${result.read?.path}\n${text}`,
		}));
		const { backed, dangling } = referencesIn(session, both);
		expect(dangling).toBe(0);
		expect(backed).toBeGreaterThan(0);
		expect(clearedIn(session, both).at(-1)).toContain(true);
	});
});

/** How many references of results that are not cleared are to results that are there, or that are cleared. */
function referencesIn(session: ReplaySession, policy: RequestPolicy) {
	const found = { backed: 0, dangling: 0 };
	for (const request of policy.requests(session)) {
		const blocks = request.blocks as readonly SessionBlock[];
		const shown = blocks.filter(({ hash }) => !hash.endsWith("~cleared"));
		const ids = new Set(shown.map(({ id }) => id));
		for (const base of shown.flatMap(({ refersTo = [] }) => refersTo)) {
			found[ids.has(base) ? "backed" : "dangling"]++;
		}
	}
	return found;
}

function ofModel(session: ReplaySession, provider: string, id: string): ReplaySession {
	const model = { name: { provider, id }, rules: rulesFor({ provider, id }), prices: undefined };
	const steps = Array.from(session.steps(), (step) => ({
		...step,
		model: { ...model, contextWindow: undefined },
	}));
	return { ...session, bills: steps, steps: () => steps };
}

/** The results at some places refer to the first result. */
function referring(session: ReplaySession, refers: (at: number) => boolean): ReplaySession {
	const made = new Map<number, SessionBlock>();
	const steps = Array.from(session.steps(), (step) => {
		const results = step.blocks.filter(({ kind }) => kind === "result");
		const base = results[0]?.id ?? 0;
		for (const [at, block] of results.entries()) {
			const refersTo = at > 0 && refers(at) ? { refersTo: [base] } : {};
			if (!made.has(block.id)) made.set(block.id, { ...block, ...refersTo });
		}
		return { ...step, blocks: step.blocks.map((block) => made.get(block.id) ?? block) };
	});
	return { ...session, bills: steps, steps: () => steps };
}
