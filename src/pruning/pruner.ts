import {
	type CacheRules,
	createRewriteCredit,
	type PruneDecision,
	shouldPrune,
	type Ttl,
	writeRatioFor,
} from "../economy/index.ts";
import type { ContextMessage, ToolResultItem } from "../session/index.ts";
import {
	type Candidate,
	type CandidateSettings,
	candidatesOf,
	type ResultFacts,
} from "./candidates.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";

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

/** How fast something grows from one request to the next: an average in which the latest counts most. */
export interface Growth {
	/** Takes note of the size at a request. A size that fell was pruned, and says nothing about growth. */
	note(size: number): void;
	/** Growth per request; zero until there is something to go by. */
	readonly perRequest: number;
}

/** The weight of the latest step once there are many; before, each counts the same. */
const WEIGHT = 0.05;

/** Begins without a size. */
export function createGrowth(): Growth {
	let last = 0;
	let steps = 0;
	let average = 0;
	return {
		note(size) {
			if (size >= last) {
				steps++;
				average += (size - last - average) * Math.max(WEIGHT, 1 / steps);
			}
			last = size;
		},
		get perRequest() {
			return average;
		},
	};
}

/** The `prune` settings that decide what may go. */
export interface PruneSettings {
	readonly keepRecentTurns: number;
	readonly maxToolChars: number;
	readonly adaptive: boolean;
}

/** How full the window must be to prune more, and how empty to stop: far enough apart not to go back and forth. */
const TIGHTEN_ABOVE = 0.6;
const RELAX_BELOW = 0.45;

/**
 * Whether to prune more than usual, from how full the model's window is and whether we already do. It stays as it is
 * between the two marks, so that a prune, which empties the window, does not at once end itself.
 */
export function isTight(
	wasTight: boolean,
	{ contextTokens, contextWindow }: { contextTokens: number; contextWindow: number },
): boolean {
	if (contextWindow <= 0) return false;
	const fill = contextTokens / contextWindow;
	return fill > (wasTight ? RELAX_BELOW : TIGHTEN_ABOVE);
}

/** What may go, usually or when it is tight: one turn fewer is kept, shorter output goes, and of every tool. */
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

/** What pruning all candidates frees, and where they stand. All in tokens. */
export interface Survey {
	readonly freedTokens: number;
	/** Of the first candidate and all behind it. */
	readonly tokensFromFirst: number;
	/** Of all behind the last candidate. */
	readonly tokensAfterLast: number;
}

/** What pruning costs and gains at a moment, whatever the candidates are. */
export interface Price {
	readonly rules: CacheRules;
	/** The provider has to be sent everything anew in any case. */
	readonly cold: boolean;
	/** Tokens of the next request: the messages', and tools and system prompt. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	/** By how much the prunable tokens grow from one request to the next. */
	readonly growthPerRequest: number;
	/** What a rewrite may cost, in plain input tokens, without making a session that ends now dearer. */
	readonly credit: number;
	readonly ttl: Ttl;
}

/** Whether to prune now, and what that would free and cost. */
export interface Plan {
	readonly prune: boolean;
	/**
	 * As the economy says; or it would pay in the long run, but is `unpaid` so far: a session that ended now would have
	 * been dearer for it.
	 */
	readonly why: PruneDecision["why"] | "unpaid";
	/** The tokens that a batch must free to pay. */
	readonly threshold: number;
	readonly freedTokens: number;
	/** Tokens that the provider has to write again because of it; none if it has to anyway. */
	readonly rewrittenTokens: number;
	/** What that costs, in plain input tokens. */
	readonly rewriteCost: number;
}

/** What the candidates among messages come to. */
export function surveyOf(
	messages: readonly ContextMessage[],
	candidates: readonly Candidate[],
): Survey {
	const first = candidates[0]?.at ?? messages.length;
	const last = candidates.at(-1)?.at ?? messages.length;
	return {
		freedTokens: freedBy(candidates),
		tokensFromFirst: tokensFrom(messages, first),
		tokensAfterLast: tokensFrom(messages, last + 1),
	};
}

/** Asks the economy whether replacing all candidates pays, and whether the session can afford it by now. */
export function planFor(survey: Survey, moment: Price): Plan {
	const { freedTokens, tokensFromFirst, tokensAfterLast } = survey;
	const { rules, cold, contextTokens, contextWindow, ttl } = moment;
	const staying = Math.max(0, tokensFromFirst - freedTokens);
	const rewrittenTokens = cold ? 0 : staying;
	const premium = Math.max(0, writeRatioFor(ttl, rules) - rules.readRatio);
	const rewriteCost = premium * rewrittenTokens;
	const decision = shouldPrune({
		prunableTokens: freedTokens,
		tokensAfterFirst: staying,
		tokensAfterLast,
		growthPerRequest: moment.growthPerRequest,
		rules,
		cold,
		contextTokens,
		contextWindow,
		ttl,
	});
	const plan = { ...decision, freedTokens, rewrittenTokens, rewriteCost };
	const isUnpaid = decision.why === "pays" && rewriteCost > moment.credit;
	return isUnpaid ? { ...plan, prune: false, why: "unpaid" } : plan;
}

function tokensFrom(messages: readonly ContextMessage[], at: number): number {
	return messages.slice(at).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** What replacing these results by stubs frees. */
export function freedBy(candidates: readonly Candidate[]): number {
	return candidates.reduce((sum, { item }) => sum + freedFrom(item), 0);
}

/** What replacing one frees. */
export function freedFrom({ tokens }: Pick<ToolResultItem, "tokens">): number {
	return Math.max(0, tokens - MAX_STUB_TOKENS);
}
