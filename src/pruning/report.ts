import type { Config } from "../core/config.ts";
import type { SweepResult } from "../core/object-store.ts";
import type { SessionView } from "../session/index.ts";
import { counted, megabytes, short } from "../text/figures.ts";
import type { Candidate } from "./candidates.ts";
import type { Action, PruningSummary } from "./live.ts";
import type { Decision } from "./pruner.ts";
import type { KeptOut } from "./stub.ts";
import { pruningStatus } from "./stub.ts";

export interface PruningReport {
	readonly settings: Pick<Config, "prune" | "blobs">;
	readonly usage: ReturnType<SessionView["getContextUsage"]>;
	readonly keptOut: KeptOut;
	readonly summary: PruningSummary;
	/** Absent while there is nothing to decide on. */
	readonly decision?: Decision;
	readonly callOf: (candidate: Candidate) => string;
	readonly pinned: number;
	/** Kept because they hold a value of an excluded file. */
	readonly holdingValues: number;
	readonly trouble: string | undefined;
	/** Dollars per plain input token; 0 if unknown. */
	readonly tokenPrice: number;
	readonly nowMs: number;
}

const SHOWN = 5;

export function pruningText(report: PruningReport): string {
	const { settings, usage, keptOut, summary, trouble, pinned, holdingValues } = report;
	const { keepRecentTurns, maxToolChars, adaptive, pinImpactSummaries } = settings.prune;
	return [
		`pruning: on (keepRecentTurns ${keepRecentTurns}, maxToolChars ${maxToolChars}, adaptive ${adaptive}, pinImpactSummaries ${pinImpactSummaries}, blobs.scope ${settings.blobs.scope})`,
		`context: ${pruningStatus(usage, keptOut.tokens)}`,
		...(trouble === undefined
			? []
			: [
					`the last time, results were left as they are because the original could not be kept: ${trouble}`,
				]),
		...doneLines(report),
		...nextLines(report),
		`pinned: ${counted(pinned, "result")}`,
		...(holdingValues > 0
			? [
					`neither pruned nor stored: ${counted(holdingValues, "result")} with a value of a file on readcache.exclude`,
				]
			: []),
		...(summary.actions.length > 0 ? [moneyLine(report)] : []),
	].join("\n");
}

export function purgedText(swept: SweepResult): string {
	if (swept.kind === "failed") return `Nothing deleted: ${swept.message}`;
	const { removedObjects, removedBytes, objects, bytes, trouble = "used meanwhile" } = swept;
	const deleted =
		removedObjects === 0 && objects > 0
			? "Nothing deleted."
			: `Deleted ${counted(removedObjects, "text")} (${megabytes(removedBytes)}).`;
	if (objects === 0) return deleted;
	const verb = objects === 1 ? "is" : "are";
	return `${deleted} ${counted(objects, "text")} (${megabytes(bytes)}) ${verb} still there: ${trouble}`;
}

/** Actions are known since this start; older ones only by their stubs. */
function doneLines({ summary, keptOut, nowMs }: PruningReport): string[] {
	const { actions, results, freedTokens } = summary;
	const earlier = keptOut.results - results;
	const before =
		earlier > 0
			? [
					`done before this start: ${counted(earlier, "result")}, ${short(Math.max(0, keptOut.tokens - freedTokens))} tokens freed`,
				]
			: [];
	if (actions.length === 0) return earlier > 0 ? before : ["done in this session: nothing yet"];
	return [
		...before,
		`done ${earlier > 0 ? "since" : "in this session"}: ${counted(results, "result")}, ${short(freedTokens)} tokens freed`,
		...actions.slice(-SHOWN).map((action) => `  ${actionText(action, nowMs)}`),
	];
}

function actionText({ atMs, why, results, freedTokens, rewrittenTokens }: Action, nowMs: number) {
	const minutes = Math.max(0, Math.round((nowMs - atMs) / 60_000));
	const cost = rewrittenTokens > 0 ? `, ${short(rewrittenTokens)} written anew` : "";
	return `${minutes} min ago: ${counted(results, "result")}, ${short(freedTokens)} tokens${cost} (${REASONS[why]})`;
}

const REASONS: Record<Decision["plan"]["why"], string> = {
	nothing: "there is nothing to prune",
	cold: "the provider's cache was cold, so it was free",
	"near-limit": "pi would soon compact",
	pays: "it pays",
	waits: "it waits until there is more",
	unpaid: "it waits until earlier savings cover the rewrite, so that no session gets dearer by it",
};

function nextLines({ decision, callOf }: PruningReport): string[] {
	const { candidates = [], bound = 0 } = decision ?? {};
	const kept =
		bound === 0
			? []
			: [
					`kept: ${counted(bound, "old result")}, because the model's thinking is bound to the text before it and would be lost; they can go right after a compaction`,
				];
	if (!decision || candidates.length === 0) {
		return bound > 0 ? kept : ["next: nothing is old enough to go"];
	}
	const { plan, tight } = decision;
	const { freedTokens, rewrittenTokens, threshold, why } = plan;
	const wait =
		why === "waits" ? `${REASONS[why]}: from ${short(threshold)} tokens on it pays` : REASONS[why];
	const more = candidates.length - SHOWN;
	return [
		`next: ${counted(candidates.length, "result")}, ${short(freedTokens)} tokens, for ${short(rewrittenTokens)} written anew; ${wait}${tight ? "; the window fills up, so more goes than usual" : ""}`,
		...candidates.slice(0, SHOWN).map((candidate) => `  ${candidate.why}: ${callOf(candidate)}`),
		...(more > 0 ? [`  and ${more} more`] : []),
		...kept,
	];
}

/** In tokens where there is no price. */
function moneyLine({ summary, tokenPrice }: PruningReport): string {
	const tokens = Math.abs(summary.saved);
	const amount =
		tokenPrice > 0
			? `about $${(tokens * tokenPrice).toFixed(2)}`
			: `the price of about ${short(tokens)} input tokens`;
	return summary.saved >= 0
		? `money: saved ${amount} so far`
		: `money: has cost ${amount} more than it saved so far; each request from here on saves`;
}
