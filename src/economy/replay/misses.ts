import { costOf } from "../cost.ts";
import type { Block } from "../request.ts";
import { sharedStart } from "../request.ts";
import { promptOf } from "./billed.ts";
import type { Change, ReplaySession, Step } from "./requests.ts";

/** A request for which the provider did not find what the request before had left in its cache. */
export interface ReplayMiss {
	/** Number of the request, from 1. */
	readonly request: number;
	readonly atMs: number;
	/** Tokens that were paid for again. */
	readonly tokens: number;
	/** What that cost beyond reading them from the cache, in plain input tokens. */
	readonly cost: number;
	readonly cause: ReplayMissCause;
	/** The first block that differs from the request before, or `undefined` if the file shows no difference. */
	readonly changed: string | undefined;
	/** Next to nothing was found, so that for a simulation the cache is empty. */
	readonly isTotal: boolean;
}

/** Why a cached prefix was of no use: something that changed, its time was over, or nothing that the file shows. */
export type ReplayMissCause = Change | "messages" | "expired" | "provider";

/** Below this, a difference is the grain of the provider's counting. Pi uses the same figure. */
const NOISE_TOKENS = 1024;

/** Less than this share of what should have been read counts as all lost. */
const TOTAL_LOSS = 0.5;

/** Compares each request with the one before and with its bill. */
export function findMisses(session: ReplaySession): ReplayMiss[] {
	const misses: ReplayMiss[] = [];
	let before: Step | undefined;
	for (const step of session.steps()) {
		const miss = before && missBetween(before, step);
		if (miss) misses.push(miss);
		before = step;
	}
	return misses;
}

function missBetween(before: Step, step: Step): ReplayMiss | undefined {
	const expected = Math.min(leftBehind(before), promptOf(step.billed));
	const tokens = expected - step.billed.read;
	if (tokens <= NOISE_TOKENS) return undefined;
	const changed = firstChange(before.blocks, step.blocks);
	const cause = causeOf(before, step, changed);
	const { read } = step.billed;
	return {
		request: step.index + 1,
		atMs: step.atMs,
		tokens,
		cost: costOfMiss(tokens, step),
		cause,
		changed: changed?.label,
		// What is lost for a reason that shows, the simulation loses by itself.
		isTotal: read === 0 || (cause === "provider" && read < expected * TOTAL_LOSS),
	};
}

/** What a request left in the cache for the next one. Providers that bill no writes keep what they were sent. */
function leftBehind({ billed, model }: Step): number {
	const isSilent = model.rules.automatic !== "none" && billed.write === 0 && billed.read > 0;
	return isSilent ? promptOf(billed) : billed.read + billed.write;
}

function costOfMiss(tokens: number, { billed, model }: Step): number {
	const paid = billed.input + billed.write;
	if (paid === 0) return 0;
	const perToken = costOf({ ...billed, read: 0 }, model.rules) / paid;
	return Math.max(0, tokens * (perToken - model.rules.readRatio));
}

/** Changes that explain a miss whatever else happened, the weightiest first. */
const CAUSES: readonly Change[] = [
	"compaction",
	"model",
	"tools",
	"system",
	"branch",
	"edit",
	"thinking",
];

function causeOf(before: Step, step: Step, changed: Block | undefined): ReplayMissCause {
	const { invalidates } = step.model.rules;
	const cause = CAUSES.find(
		(change) => step.changes.has(change) && (change !== "thinking" || invalidates.thinking),
	);
	if (cause) return cause;
	if (step.atMs - before.atMs >= step.model.rules.ttlMs[before.ttl]) return "expired";
	return changed ? "messages" : "provider";
}

/** The first block of the later request that stands where the earlier one had another. */
function firstChange(before: readonly Block[], now: readonly Block[]): Block | undefined {
	for (let at = sharedStart(before, now); at < before.length; at++) {
		if (now[at]?.hash !== before[at]?.hash) return now[at] ?? before[at];
	}
	return undefined;
}
