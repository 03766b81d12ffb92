import type { Ttl } from "../../core/bill.ts";
import { counted, grouped, short } from "../../text/figures.ts";
import { KEPT_TOKENS, SUMMARY_TOKENS } from "../missed-compaction.ts";
import { type CacheRules, dollarsOf, type ModelInfo } from "../rules.ts";

/** What the next request costs in dollars, now that the provider's cache has expired. */
export interface ColdMoment {
	readonly tokens: number;
	/** All of it is written to the cache again. */
	readonly dollars: number;
	/** If the cache still held it. */
	readonly warmDollars: number;
	readonly pruning: ColdPruning;
	/** The same request after pruning. */
	readonly prunedDollars: number;
	/** The summary, and the request after it; absent if a compaction would leave as much. */
	readonly compactDollars?: number;
}

/** What pruning takes out of the next request. */
export interface ColdPruning {
	readonly freedTokens: number;
	/** Results that stay because the model's thinking is bound to them. */
	readonly bound: number;
}

interface NextRequest {
	readonly tokens: number;
	readonly model: ModelInfo;
	readonly rules: CacheRules;
	readonly ttl: Ttl;
	readonly pruning: ColdPruning;
}

/** `undefined` if the price or the lifetime is not documented. */
export function coldMomentOf(next: NextRequest): ColdMoment | undefined {
	const { tokens, model, rules, ttl, pruning } = next;
	const { cost: prices } = model;
	if (!prices?.input || !hasLifetime(model, rules)) return undefined;
	const none = { input: 0, read: 0, write: 0, writeOneHour: 0 };
	const written = (write: number) =>
		dollarsOf({ ...none, write, writeOneHour: ttl === "1h" ? write : 0 }, prices, rules);
	const left = KEPT_TOKENS + SUMMARY_TOKENS;
	// Pi asks for the summary without breakpoints.
	const summary = dollarsOf({ ...none, input: tokens, output: SUMMARY_TOKENS }, prices, rules);
	return {
		tokens,
		dollars: written(tokens),
		warmDollars: dollarsOf({ ...none, read: tokens }, prices, rules),
		pruning,
		prunedDollars: written(Math.max(0, tokens - pruning.freedTokens)),
		...(tokens > left && { compactDollars: summary + written(left) }),
	};
}

/** Google and Amazon name no lifetime; the one in their rules is a guess unless pi or the user states one. */
function hasLifetime({ promptCache }: ModelInfo, { source, family }: CacheRules): boolean {
	if (source === "default" || family === "none") return false;
	return promptCache?.short !== undefined || (family !== "gemini" && family !== "nova");
}

/** Without prices for a user who pays by subscription. */
export function coldText(moment: ColdMoment, isSubscribed = false): string {
	const { tokens, dollars, warmDollars, pruning } = moment;
	const { freedTokens, bound } = pruning;
	const cost = isSubscribed
		? `sends ${grouped(tokens)} tokens that are not cached`
		: `pays for ${grouped(tokens)} tokens again, about ${money(dollars)} instead of ${money(warmDollars)}`;
	const pruned = freedTokens > 0 ? ` Pruning takes out ${short(freedTokens)} tokens first.` : "";
	const kept =
		bound > 0
			? ` ${counted(bound, "old result")} cannot be pruned: thinking is bound to them.`
			: "";
	return `the provider's cache has expired. The next request ${cost}.${pruned}${kept}`;
}

type ColdChoice = "prune" | "send" | "compact";

/** The ways to go on, with what each costs. */
export function coldChoices(moment: ColdMoment): Map<string, ColdChoice> {
	const { dollars, pruning, prunedDollars, compactDollars } = moment;
	const choices = new Map<string, ColdChoice>();
	if (pruning.freedTokens > 0) {
		const freed = short(pruning.freedTokens);
		choices.set(
			`Prune ${freed} tokens of old output, then send: about ${money(prunedDollars)}`,
			"prune",
		);
	}
	choices.set(`Send everything: about ${money(dollars)}`, "send");
	if (compactDollars !== undefined) {
		choices.set(
			`Compact, then send with Enter: about ${money(compactDollars)}, and less from then on`,
			"compact",
		);
	}
	return choices;
}

function money(dollars: number): string {
	return `$${dollars.toFixed(dollars < 0.1 ? 3 : 2)}`;
}
