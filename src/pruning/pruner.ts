import type { ContextMessage, ToolResultItem } from "../context/index.ts";
import { type CacheRules, createRewriteCredit, type Ttl } from "../economy/index.ts";
import { type Candidate, candidatesOf, type ResultFacts } from "./candidates.ts";
import { createGrowth } from "./growth.ts";
import { type Plan, planOf } from "./plan.ts";
import { isTight, type PruneSettings, strictness } from "./strictness.ts";

/** A session at the moment when it could be pruned. */
export interface PrunableSession {
	readonly messages: readonly ContextMessage[];
	/** The tool results among them, by entry. */
	readonly results: ReadonlyMap<string, ToolResultItem>;
	readonly facts: ResultFacts;
	/**
	 * The first message that may be edited; zero if all may. Behind the ones before it stands thinking that the provider
	 * accepts only while they stay as they were sent.
	 */
	readonly editableFrom: number;
	readonly rules: CacheRules;
	/** The provider has to be sent everything anew in any case. */
	readonly cold: boolean;
	/** Tokens of the next request as far as known, tools and system prompt included. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	readonly ttl: Ttl;
}

/** What could go, and whether it goes now. */
export interface Decision {
	readonly candidates: readonly Candidate[];
	readonly plan: Plan;
	/** Results that would be candidates if no thinking were bound to them. */
	readonly bound: number;
	/** The window is so full that more goes than usual. */
	readonly tight: boolean;
}

/** Decides what is pruned and when, over the life of a session. It changes nothing itself. */
export interface Pruner {
	/** To be asked once for every request: it learns from it how fast prunable output grows. */
	decide(session: PrunableSession): Decision;
	/** What it would decide, without learning from it. */
	preview(session: PrunableSession): Decision;
	/** Takes note of what a request cost, and what it would have cost without pruning; in plain input tokens. */
	noteRequest(cost: number, costUnpruned: number): void;
}

/** Makes one for a session. */
export function createPruner(settings: PruneSettings): Pruner {
	const growth = createGrowth();
	const credit = createRewriteCredit();
	let wasTight = false;

	return {
		preview: (session) => consider(session),
		decide(session) {
			const decision = consider(session);
			wasTight = decision.tight;
			growth.note(decision.plan.freedTokens);
			// With what was learned just now: without it, the first batch would have nothing to go by.
			return { ...decision, plan: planFor(session, decision.candidates) };
		},
		noteRequest: credit.add,
	};

	function consider(session: PrunableSession): Decision {
		const tight = settings.adaptive && isTight(wasTight, session);
		const { messages, results, facts, editableFrom } = session;
		const all = candidatesOf(messages, results, strictness(settings, tight), facts);
		const candidates = all.filter(({ at }) => at >= editableFrom);
		const bound = all.length - candidates.length;
		return { candidates, bound, tight, plan: planFor(session, candidates) };
	}

	function planFor(session: PrunableSession, candidates: readonly Candidate[]): Plan {
		const growthPerRequest = growth.perRequest;
		return planOf({ ...session, candidates, growthPerRequest, credit: credit.left() });
	}
}
