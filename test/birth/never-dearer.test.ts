// @module-tag slow
import { describe, expect, test } from "vitest";
import { policiesWithBirth } from "../../src/birth/index.ts";
import { loadConfig } from "../../src/core/config.ts";
import { knownModel, rebuildRequests, runPolicy } from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies.ts";
import { readSessions, resultTextOf } from "../../src/importers/index.ts";
import { pruningPolicy } from "../../src/pruning/index.ts";
import { kinds, sessionOf } from "./kinds.ts";

const { birth, prune } = loadConfig({ agentDir: "/none", cwd: "/none" }).config;
const { usual, further } = policiesWithBirth(pruningPolicy(prune), resultTextOf, birth);
const policies = [...usual, ...further];

/** What only shortens new text is never dearer. What rewrites, or writes for longer, has a credit of 2 %. */
const LIMITS: Readonly<Record<string, number>> = {
	birth: 1,
	quiet: 1,
	"birth-quiet": 1,
	clearing: 1.02,
	"ttl-auto": 1.02,
	"birth-clearing": 1.02,
	pruning: 1.02,
	strata: 1.02,
};

const SEEDS = [1, 2, 3, 4, 5, 6];

describe.each(Object.entries(kinds))("a generated session: %s", (_, kind) => {
	test.each(SEEDS)("is never dearer, seed %i", async (seed) => {
		const [session] = await readSessions(sessionOf(kind, seed).save(), { detail: "texts" });
		const requests = rebuildRequests(session as NonNullable<typeof session>, knownModel);
		const own = runPolicy(appendOnly, requests).cost;
		const dearer = policies.flatMap((policy) => {
			const limit = LIMITS[policy.name];
			if (limit === undefined) return [];
			const ratio = runPolicy(policy, requests).cost / own;
			return ratio > limit + 1e-9 ? [`${policy.name} ${ratio.toFixed(4)}`] : [];
		});
		expect(dearer).toEqual([]);
	});
});
