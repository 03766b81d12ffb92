import { describe, expect, test } from "vitest";
import type {
	ReplayPolicy,
	ReplaySession,
	SessionBlock,
} from "../../../src/economy/replay/index.ts";
import { replayPolicies, runPolicy, strataPolicy } from "../../../src/economy/replay/index.ts";
import { findMisses } from "../../../src/economy/replay/misses.ts";
import { findDuplicateReads } from "../../../src/economy/replay/report.ts";
import { rebuildRequests } from "../../../src/economy/replay/requests.ts";
import { pruningPolicy } from "../../../src/pruning/index.ts";
import { readSessionFile } from "../../support/read-session-file.ts";
import { randomSession } from "./random-session.ts";
import { testModel } from "./session-writer.ts";

const pruning = pruningPolicy({ keepRecentTurns: 2, maxToolChars: 1200, adaptive: true });
const policies: readonly ReplayPolicy[] = [...replayPolicies, strataPolicy(pruning), pruning];

describe("looking only at what is new in a request", () => {
	test.each(Array.from({ length: 12 }, (_, seed) => seed))(
		"changes no result, session %i",
		async (seed) => {
			const incidents = { rearranged: seed % 3 === 0 ? 0.08 : 0, misbilled: seed % 2 ? 0.1 : 0 };
			const session = await randomSession(seed, 160, incidents).replay();
			const strangers = withoutSharedBlocks(session);
			for (const policy of policies) {
				expect(runPolicy(policy, session), policy.name).toEqual(runPolicy(policy, strangers));
			}
			expect(findMisses(session)).toEqual(findMisses(strangers));
			expect(findDuplicateReads(session)).toEqual(findDuplicateReads(strangers));
		},
	);

	test("makes the work of a replay grow with the session, not with its square", {
		tags: "slow",
	}, async () => {
		const [half, whole] = [await workOn(600), await workOn(1200)];
		for (const [name, work] of whole) {
			expect(work, name).toBeLessThanOrEqual(2.6 * (half.get(name) ?? 0));
		}
	});

	test("lets sessions be rebuilt in full that took too much work before", async () => {
		const session = await readSessionFile(
			randomSession(1, 1200, { rearranged: 0, misbilled: 0 }).save(),
		);
		const rebuilt = rebuildRequests(session, testModel, { maxWork: 20 * session.entries.length });
		expect(rebuilt.skipped.requests).toBe(0);
	});
});

/** The same session with blocks of its own in every request, so that each has to be looked at in full. */
function withoutSharedBlocks(session: ReplaySession): ReplaySession {
	return {
		...session,
		*steps() {
			for (const step of session.steps()) {
				yield { ...step, blocks: step.blocks.map((block) => ({ ...block })) };
			}
		},
	};
}

/** How often a property of a block is looked at, by policy. */
async function workOn(entries: number): Promise<Map<string, number>> {
	const session = await randomSession(5, entries, { rearranged: 0, misbilled: 0 }).replay();
	let looks = 0;
	const watched = new WeakMap<SessionBlock, SessionBlock>();
	const watch = (block: SessionBlock): SessionBlock => {
		const known =
			watched.get(block) ??
			new Proxy(block, {
				get(target, key, receiver) {
					looks++;
					return Reflect.get(target, key, receiver);
				},
			});
		watched.set(block, known);
		return known;
	};
	const counted: ReplaySession = {
		...session,
		*steps() {
			for (const step of session.steps()) yield { ...step, blocks: step.blocks.map(watch) };
		},
	};
	const work = new Map<string, number>();
	const measure = (name: string, run: () => unknown) => {
		looks = 0;
		run();
		work.set(name, looks);
	};
	for (const policy of policies) measure(policy.name, () => runPolicy(policy, counted));
	measure("duplicate reads", () => findDuplicateReads(counted));
	measure("misses", () => findMisses(counted));
	return work;
}
