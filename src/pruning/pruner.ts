import { type CacheRules, createRewriteCredit, type Ttl } from "../economy/index.ts";
import type { ContextMessage, ToolResultItem } from "../session/index.ts";
import {
	type Candidate,
	type CandidateSettings,
	candidatesOf,
	type ResultFacts,
} from "./candidates.ts";
import { createGrowth } from "./growth.ts";
import { type Plan, planFor, type Survey, surveyOf } from "./plan.ts";
import { isTight, type PruneSettings, strictness } from "./strictness.ts";

/** A session at the moment when it could be pruned, without its conversation. */
export interface PricedSession {
	readonly rules: CacheRules;
	/** The provider has to be sent everything again in any case. */
	readonly cold: boolean;
	/** Tokens of the next request as far as known, tools and system prompt included. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	readonly ttl: Ttl;
}

/** A session at the moment when it could be pruned. */
export interface PrunableSession extends PricedSession {
	readonly messages: readonly ContextMessage[];
	/** The tool results among them, by entry. */
	readonly results: ReadonlyMap<string, ToolResultItem>;
	readonly facts: ResultFacts;
	/**
	 * The first message that may be edited; zero if all may. Behind the ones before it stands thinking that the provider
	 * accepts only while they stay as they were sent.
	 */
	readonly editableFrom: number;
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
	/** The same for a session whose candidates are found elsewhere: `survey` says what they come to. */
	decideOn(session: PricedSession, survey: (settings: CandidateSettings) => Survey): Plan;
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
		preview: (session) => decision(consider(session, (by) => found(session, by))),
		decide: (session) => decision(learn(session, (by) => found(session, by))),
		decideOn: (session, survey) => learn(session, survey).plan,
		noteRequest: credit.add,
	};

	function learn<Found extends Survey>(
		session: PricedSession,
		survey: (settings: CandidateSettings) => Found,
	) {
		const considered = consider(session, survey);
		wasTight = considered.tight;
		growth.note(considered.survey.freedTokens);
		// With what was learned just now: without it, the first batch would have nothing to go by.
		return { ...considered, plan: plan(considered.survey, session) };
	}

	function consider<Found extends Survey>(
		session: PricedSession,
		survey: (settings: CandidateSettings) => Found,
	) {
		const tight = settings.adaptive && isTight(wasTight, session);
		const surveyed = survey(strictness(settings, tight));
		return { tight, survey: surveyed, plan: plan(surveyed, session) };
	}

	function plan(survey: Survey, session: PricedSession): Plan {
		return planFor(survey, {
			...session,
			growthPerRequest: growth.perRequest,
			credit: credit.left(),
		});
	}
}

interface Found extends Survey {
	readonly candidates: readonly Candidate[];
	readonly bound: number;
}

function found(session: PrunableSession, settings: CandidateSettings): Found {
	const { messages, results, facts, editableFrom } = session;
	const all = candidatesOf(messages, results, settings, facts);
	const candidates = all.filter(({ at }) => at >= editableFrom);
	return {
		...surveyOf(messages, candidates),
		candidates,
		bound: all.length - candidates.length,
	};
}

function decision({
	survey,
	plan,
	tight,
}: {
	survey: Found;
	plan: Plan;
	tight: boolean;
}): Decision {
	return { candidates: survey.candidates, plan, bound: survey.bound, tight };
}
