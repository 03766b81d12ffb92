import { costOf, dollarsOf } from "../cost.ts";
import type { PromptTokens } from "../request.ts";
import { promptOf } from "./billed.ts";
import { type DuplicateRead, findDuplicateReads } from "./duplicate-reads.ts";
import { fullName } from "./entry.ts";
import { findMisses, type ReplayMiss } from "./misses.ts";
import { appendOnly, appendOnlyWithLosses } from "./policies/append-only.ts";
import { type PolicyOutcome, type ReplayPolicy, runPolicy } from "./policy.ts";
import type { ReplaySession, SavedAlready, Skipped } from "./requests.ts";

/** What a session cost and would have cost. Plain data; costs are in plain input tokens. */
export interface ReplayReport {
	/** The file that was read. */
	readonly file: string;
	readonly requests: number;
	readonly models: readonly ReportModel[];
	readonly policies: readonly PolicyRow[];
	readonly misses: readonly Omit<ReplayMiss, "isTotal">[];
	readonly duplicateReads: readonly DuplicateRead[];
	/** How well replay reproduces the bill when it is told when the provider lost its cache. */
	readonly check: {
		readonly simulated: number;
		readonly billed: number;
		readonly deviation: number;
	};
	readonly savedAlready: SavedAlready;
	/** Lines of the file that could not be used. */
	readonly skipped: number;
	readonly skippedBy: Skipped;
	readonly chart: readonly ChartSeries[];
}

/** A model of the session, and the rules that its requests were billed by. */
export interface ReportModel {
	/** `provider/id`. */
	readonly name: string;
	readonly requests: number;
	readonly readRatio: number;
	readonly writeRatio: number;
	/** Where the rules come from, in a sentence. */
	readonly because: string;
}

/** One line of the comparison. */
export interface PolicyRow {
	readonly name: string;
	readonly description: string;
	readonly cost: number;
	/** To the cost of append-only. */
	readonly ratio: number;
	/** Without the answers; absent where a price is not known. */
	readonly dollars?: number;
	readonly read: number;
	readonly write: number;
	readonly input: number;
	/** The largest prompt in tokens. */
	readonly maxContext: number;
}

/** The requests of a policy, one after another; long sessions are thinned out. */
export interface ChartSeries {
	readonly name: string;
	readonly points: readonly PromptTokens[];
}

/** More points than a chart is wide help nobody. */
const MAX_POINTS = 1000;

/** What a report is to compare. */
export interface ReportOptions {
	readonly policies: readonly ReplayPolicy[];
	/** Told what is being worked on. */
	readonly onProgress?: (policy: string) => void;
}

/** Replays a session under each policy and draws up the account. */
export function buildReport(
	session: ReplaySession,
	{ policies, onProgress }: ReportOptions,
): ReplayReport {
	const outcomeOf = (policy: ReplayPolicy) => {
		onProgress?.(policy.name);
		return runPolicy(policy, session);
	};
	const base = outcomeOf(appendOnly);
	const outcomes = policies.map((policy) => (policy === appendOnly ? base : outcomeOf(policy)));
	onProgress?.("misses");
	const misses = findMisses(session);
	return {
		file: session.file,
		requests: session.bills.length,
		models: modelsOf(session),
		policies: outcomes.map((outcome) => rowOf(outcome, base.cost, session)),
		misses: misses.map(({ isTotal: _, ...miss }) => miss),
		duplicateReads: findDuplicateReads(session),
		check: checkOf(session, misses),
		savedAlready: session.savedAlready,
		skipped: linesOf(session.skipped),
		skippedBy: session.skipped,
		chart: outcomes.map(({ name, requests }) => ({ name, points: thinnedOut(requests) })),
	};
}

function linesOf({ damaged, tooLong, surplus }: Skipped): number {
	return damaged + tooLong + surplus;
}

function rowOf(outcome: PolicyOutcome, base: number, session: ReplaySession): PolicyRow {
	const { name, description, cost, read, write, input, maxContext } = outcome;
	const dollars = dollarsFor(outcome, session);
	return {
		name,
		description,
		cost,
		ratio: cost / base,
		...(dollars !== undefined && { dollars }),
		read,
		write,
		input,
		maxContext,
	};
}

function dollarsFor({ requests }: PolicyOutcome, { bills }: ReplaySession): number | undefined {
	let dollars = 0;
	for (const [index, tokens] of requests.entries()) {
		const prices = bills[index]?.model.prices;
		if (!prices?.input) return undefined;
		dollars += dollarsOf(tokens, prices);
	}
	return dollars;
}

function checkOf(session: ReplaySession, misses: readonly ReplayMiss[]): ReplayReport["check"] {
	const lost = new Set(misses.filter(({ isTotal }) => isTotal).map(({ request }) => request - 1));
	const simulated = runPolicy(
		appendOnlyWithLosses(({ index }) => lost.has(index)),
		session,
	).cost;
	const billed = session.bills.reduce(
		(sum, bill) => sum + costOf(bill.billed, bill.model.rules),
		0,
	);
	return { simulated, billed, deviation: simulated / billed - 1 };
}

function modelsOf({ bills }: ReplaySession): ReportModel[] {
	const models = new Map<string, ReportModel & { requests: number }>();
	for (const { model } of bills) {
		const name = fullName(model.name);
		const { readRatio, writeRatio, because } = model.rules;
		const known = models.get(name) ?? { name, requests: 0, readRatio, writeRatio, because };
		known.requests++;
		models.set(name, known);
	}
	return [...models.values()].sort((a, b) => b.requests - a.requests);
}

/** Of each run of requests, the one with the largest prompt. */
function thinnedOut(requests: readonly PromptTokens[]): PromptTokens[] {
	const size = Math.ceil(requests.length / MAX_POINTS);
	if (size <= 1) return [...requests];
	const points: PromptTokens[] = [];
	for (let from = 0; from < requests.length; from += size) {
		const run = requests.slice(from, from + size);
		points.push(run.reduce((most, next) => (promptOf(next) > promptOf(most) ? next : most)));
	}
	return points;
}
