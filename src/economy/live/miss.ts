import type { Thinking } from "../../core/bill.ts";
import type { Part, PromptTokens } from "../request.ts";
import type { CacheRules } from "../rules.ts";
import { isSamePiece, type PayloadBlock, payloadBlocks } from "./payload.ts";

/** A request that was answered, as far as its cost is concerned. */
export interface Answered {
	readonly atMs: number;
	/** Time since the cache was last used, which a ping also does. */
	readonly gapMs: number;
	readonly model: string;
	readonly thinking?: string;
	readonly tokens: PromptTokens;
	/** What was sent, if we saw it. Only looked into after a miss. */
	readonly payload?: unknown;
	/** The conversation was summarised just before. */
	readonly compacted?: boolean;
	/** Old tool output was taken out just before, on purpose. */
	readonly pruned?: boolean;
	/** The user went to another branch of the session just before. */
	readonly branched?: boolean;
	/** Thinking that no longer stands behind what it was made behind. */
	readonly misplaced?: Thinking;
}

/** Why a provider did not find what it had cached. */
export type MissCause =
	| "compaction"
	/** Old tool output was taken out of the conversation: it pays over time, or the window was nearly full. */
	| "pruning"
	| "model"
	| "thinking"
	| "expired"
	| "tools"
	| "system"
	| "branch"
	| "messages"
	/** The provider left out thinking blocks, and with them all that was cached behind the first. */
	| "dropped"
	/** Nothing changed that we can see: the provider dropped or did not find it. */
	| "provider"
	/** The requests were not watched. */
	| "unknown";

/** Tokens that were in the cache and had to be paid for again. */
export interface Miss {
	readonly atMs: number;
	readonly tokens: number;
	readonly cause: MissCause;
	/** The first piece that differs from the request before, in words. */
	readonly changed?: string;
}

/** Finds out whether a request missed what the one before it had left in the cache, and why. */
export function diagnoseMiss(
	before: Answered,
	now: Answered,
	rules: Pick<CacheRules, "automatic" | "stepTokens" | "ttlMs" | "invalidates">,
): Miss | undefined {
	const { input, read, write } = now.tokens;
	const tokens = Math.min(leftBehind(before, rules), input + read + write) - read;
	if (tokens < LEAST_MISS) return undefined;
	const wasWatched = before.payload !== undefined && now.payload !== undefined;
	const changed = wasWatched ? firstChange(before.payload, now.payload) : undefined;
	return {
		atMs: now.atMs,
		tokens,
		cause: causeOf(before, now, rules, changed) ?? (wasWatched ? "provider" : "unknown"),
		...(changed && { changed: changed.label }),
	};
}

/** Providers round, and count a block anew where another follows it: less than this says nothing. */
const LEAST_MISS = 256;

/** What a request left in the cache for the next one. */
function leftBehind(
	{ tokens }: Answered,
	{ automatic, stepTokens }: Pick<CacheRules, "automatic" | "stepTokens">,
): number {
	// Who bills no writes caches without saying so, in steps.
	if (automatic !== "none" && tokens.write === 0) {
		const prompt = tokens.input + tokens.read;
		return tokens.read > 0 ? Math.floor(prompt / stepTokens) * stepTokens - stepTokens : 0;
	}
	return tokens.read + tokens.write;
}

function causeOf(
	before: Answered,
	now: Answered,
	rules: Pick<CacheRules, "ttlMs" | "invalidates">,
	changed: PayloadBlock | undefined,
): MissCause | undefined {
	if (now.compacted) return "compaction";
	if (now.pruned) return "pruning";
	if (now.model !== before.model) return "model";
	const ttl = rules.ttlMs[before.tokens.writeOneHour > 0 ? "1h" : "5m"];
	if (now.gapMs >= ttl) return "expired";
	// Tools and system stand before all that thinking settings can lose.
	if (changed && changed.part !== "messages") return changed.part;
	if (now.branched) return "branch";
	const isOtherThinking = before.thinking !== undefined && now.thinking !== before.thinking;
	if (isOtherThinking && rules.invalidates.thinking) return "thinking";
	if (changed) return changed.part;
	const dropped = now.misplaced?.dropped ?? 0;
	return dropped > (before.misplaced?.dropped ?? 0) ? "dropped" : undefined;
}

const PARTS: readonly Part[] = ["tools", "system", "messages"];

/** The first piece of the earlier request that the later one does not begin with. */
function firstChange(before: unknown, now: unknown): PayloadBlock | undefined {
	const pieces = payloadBlocks(now);
	for (const [at, piece] of payloadBlocks(before).entries()) {
		const other = pieces[at];
		if (other && isSamePiece(piece, other)) continue;
		// With the last tool gone, the system prompt stands in its place, and has not changed.
		const isGone = !other || PARTS.indexOf(piece.part) < PARTS.indexOf(other.part);
		return isGone ? { ...piece, label: `${piece.label} (gone)` } : other;
	}
	return undefined;
}
