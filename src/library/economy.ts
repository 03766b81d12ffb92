/**
 * Costs of prompts under the caching rules of their providers: rules and prices of known models, a
 * simulator of the provider's prompt cache, and replays of session files of agents. Costs are in plain
 * input tokens of the model, so that they compare in any currency; `dollarsOf` converts. Rules
 * follow the documentation of the vendors as of November 2026; `rules.source` is `default` where
 * nothing is documented. This module only reads session files; it sends nothing anywhere.
 *
 * @example
 * Two requests that share their beginning. The second reads it from the cache.
 * ```ts
 * import { CacheSimulator, dollarsOf, findModel, rulesFor } from "pi-strata/economy";
 *
 * const model = findModel("claude-sonnet-4-5");
 * if (!model?.cost) throw new Error("The model has no known prices.");
 * const cache = new CacheSimulator(rulesFor(model));
 * const system = { part: "system", hash: "s1", tokens: 3_000, label: "system prompt" } as const;
 * const first = { part: "messages", hash: "m1", tokens: 500, label: "first question" } as const;
 * const second = { part: "messages", hash: "m2", tokens: 200, label: "second question" } as const;
 *
 * const requests = [[system, first], [system, first, second]];
 * for (const [minute, blocks] of requests.entries()) {
 * 	const breakpoints = [{ after: blocks.length - 1, ttl: "5m" }] as const;
 * 	const tokens = cache.send({ atMs: minute * 60_000, blocks, breakpoints });
 * 	const dollars = dollarsOf(tokens, model.cost).toFixed(4);
 * 	console.log(`${tokens.read} read, ${tokens.write} written: $${dollars}`);
 * }
 * ```
 *
 * @example
 * Replays a session file: its cost under each policy, and the cause of each cache miss.
 * ```ts
 * import { MISS_CAUSES, replaySessionFile } from "pi-strata/economy";
 *
 * const report = await replaySessionFile(process.argv[2] ?? "session.jsonl");
 * for (const { name, cost, ratio } of report.policies) {
 * 	console.log(`${name}: ${Math.round(cost)} tokens, ${ratio.toFixed(2)} of append-only`);
 * }
 * for (const { request, tokens, cause } of report.misses) {
 * 	console.log(`request ${request} missed ${tokens} tokens: ${MISS_CAUSES[cause]}`);
 * }
 * ```
 */

import { policiesWithBirth } from "../birth/index.ts";
import { settingGroups } from "../core/settings.ts";
import {
	joinReports,
	knownModel,
	type ReplayPolicy,
	type ReplayReport,
	replaySessions,
} from "../economy/replay/index.ts";
import { readSessions, resultTextOf } from "../importers/index.ts";
import { pruningPolicy } from "../pruning/index.ts";

export type { PromptTokens } from "../core/bill.ts";
export {
	type Block as PromptBlock,
	CacheSimulator,
	type ModelRequest,
} from "../economy/index.ts";
export { findModel, type ReplayPolicy, type ReplayReport } from "../economy/replay/index.ts";
export {
	type CacheRules,
	costOf,
	dollarsOf,
	type ModelInfo,
	rulesFor,
} from "../economy/rules.ts";
export { MISS_CAUSES } from "../text/miss-causes.ts";

const { keepRecentTurns, maxToolChars, adaptive } = settingGroups.prune.settings;
const pruning = pruningPolicy({
	keepRecentTurns: keepRecentTurns.default,
	maxToolChars: maxToolChars.default,
	adaptive: adaptive.default,
});

/** The policies that `strata replay` compares, with default settings. */
export const replayPolicies: readonly ReplayPolicy[] = policiesWithBirth(
	pruning,
	resultTextOf,
).usual;

/**
 * Rebuilds the requests of a session file of pi, Claude Code, Codex, opencode or Gemini CLI and prices them under
 * each policy; `policies` defaults to {@link replayPolicies}. Sub-agents in the file are included.
 * Rejects if the file is no session or has no billed request.
 */
export async function replaySessionFile(
	file: string,
	policies: readonly ReplayPolicy[] = replayPolicies,
): Promise<ReplayReport> {
	const { reports } = replaySessions(await readSessions(file, { detail: "texts" }), {
		policies,
		modelFor: knownModel,
	});
	const report = joinReports(reports);
	if (report) return report;
	throw new Error(
		`${file} has no request with token counts from a provider, so there is nothing to replay`,
	);
}
