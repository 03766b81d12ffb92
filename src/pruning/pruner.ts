import { createRewriteCredit } from "../economy/index.ts";
import {
	createGrowth,
	type Plan,
	type PricedSession,
	type PruneEffect,
	planFor,
} from "../economy/rewrite-plan.ts";
import type { ContextMessage, ToolResultItem } from "../session/index.ts";
import {
	type Candidate,
	type CandidateSettings,
	type Conversation,
	editableCandidates,
} from "./candidates.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";

export type PrunableSession = PricedSession & Conversation;

export interface Decision {
	readonly candidates: readonly Candidate[];
	readonly plan: Plan;
	/** Number of results that would be candidates if no thinking were bound to them. */
	readonly bound: number;
	/** Whether the window is nearly full, so that more is pruned than usual. */
	readonly tight: boolean;
}

type Measure<Effect extends PruneEffect> = (settings: CandidateSettings) => Effect;

/** Decides which results are pruned and when. Does not change the session. */
export class Pruner {
	readonly #settings: PruneSettings;
	readonly #growth = createGrowth();
	readonly #credit = createRewriteCredit();
	#wasTight = false;

	constructor(settings: PruneSettings) {
		this.#settings = settings;
	}

	/** Call this once per request, since it learns how fast prunable output grows. */
	decide(session: PrunableSession): Decision {
		return this.#learn(session, (by) => findCandidates(session, by));
	}

	/** Like `decide`, but `measure` finds the candidates for the settings it is given. */
	decideOn(session: PricedSession, measure: Measure<PruneEffect>): Plan {
		return this.#learn(session, measure).plan;
	}

	/** Like `decide`, without learning. */
	preview(session: PrunableSession): Decision {
		return this.#consider(session, (by) => findCandidates(session, by));
	}

	/** Records a request's cost, with and without pruning, in plain input tokens. */
	recordRequest(cost: number, withoutPruning: number): void {
		this.#credit.add(cost, withoutPruning);
	}

	#learn<Effect extends PruneEffect>(session: PricedSession, measure: Measure<Effect>) {
		const considered = this.#consider(session, measure);
		this.#wasTight = considered.tight;
		this.#growth.add(considered.freedTokens);
		// Plans after learning, since the first batch needs a growth rate.
		return { ...considered, plan: this.#plan(considered, session) };
	}

	#consider<Effect extends PruneEffect>(session: PricedSession, measure: Measure<Effect>) {
		const tight = this.#settings.adaptive && isTight(this.#wasTight, session);
		const effect = measure(strictness(this.#settings, tight));
		return { ...effect, tight, plan: this.#plan(effect, session) };
	}

	#plan(effect: PruneEffect, session: PricedSession): Plan {
		const { perRequest: growthPerRequest } = this.#growth;
		return planFor(effect, { ...session, growthPerRequest, credit: this.#credit.left() });
	}
}

function findCandidates(session: PrunableSession, settings: CandidateSettings) {
	const found = editableCandidates(session, settings);
	return { ...effectOf(session.messages, found.candidates), ...found };
}

export interface PruneSettings {
	readonly keepRecentTurns: number;
	readonly maxToolChars: number;
	readonly adaptive: boolean;
}

/** Shares of the window. They are far enough apart to prevent oscillation. */
const TIGHTEN_ABOVE = 0.6;
const RELAX_BELOW = 0.45;

/** Between the two shares the state stays, since pruning lowers the fill and must not end itself. */
export function isTight(
	wasTight: boolean,
	{ contextTokens, contextWindow }: Pick<PricedSession, "contextTokens" | "contextWindow">,
): boolean {
	if (contextWindow <= 0) return false;
	const fill = contextTokens / contextWindow;
	return fill > (wasTight ? RELAX_BELOW : TIGHTEN_ABOVE);
}

/** If tight, one turn fewer is kept, and shorter output of every tool is pruned. */
export function strictness(
	{ keepRecentTurns, maxToolChars }: Omit<PruneSettings, "adaptive">,
	tight: boolean,
): CandidateSettings {
	if (!tight) return { keepRecentTurns, maxToolChars, anyTool: false };
	return {
		keepRecentTurns: Math.min(keepRecentTurns, Math.max(1, keepRecentTurns - 1)),
		maxToolChars: Math.round((maxToolChars * 2) / 3),
		anyTool: true,
	};
}

export function effectOf(
	messages: readonly ContextMessage[],
	candidates: readonly Candidate[],
): PruneEffect {
	const first = candidates[0]?.at ?? messages.length;
	const last = candidates.at(-1)?.at ?? messages.length;
	return {
		freedTokens: candidates.reduce((sum, { item }) => sum + freedFrom(item), 0),
		tokensFromFirst: tokensFrom(messages, first),
		tokensAfterLast: tokensFrom(messages, last + 1),
	};
}

function tokensFrom(messages: readonly ContextMessage[], at: number): number {
	return messages.slice(at).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Negative for a result that is pruned only because it refers to others. */
export function freedFrom({ tokens }: Pick<ToolResultItem, "tokens">): number {
	return tokens - MAX_STUB_TOKENS;
}

/** `hand`: the user wanted it. */
export type BatchPlan = Pick<Plan, "rewrittenTokens" | "rewriteCost"> & {
	readonly why: Plan["why"] | "hand";
};

export interface PrunedBatch extends BatchPlan {
	readonly results: number;
	readonly freedTokens: number;
	readonly atMs: number;
}

/** Totals since this process opened the session. */
export interface PruningSummary {
	/** The latest batches, newest last. */
	readonly batches: readonly PrunedBatch[];
	readonly results: number;
	readonly freedTokens: number;
}

/** Maximum number of stored batches. Older batches are evicted, but the sums include them. */
const MAX_BATCHES = 50;

export class PruneLog {
	readonly #batches: PrunedBatch[] = [];
	#results = 0;
	#freedTokens = 0;

	add(batch: PrunedBatch): void {
		this.#batches.push(batch);
		if (this.#batches.length > MAX_BATCHES) this.#batches.shift();
		this.#results += batch.results;
		this.#freedTokens += batch.freedTokens;
	}

	summary(): PruningSummary {
		return {
			batches: [...this.#batches],
			results: this.#results,
			freedTokens: this.#freedTokens,
		};
	}
}
