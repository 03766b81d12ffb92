import type { PromptTokens, Thinking } from "../../core/bill.ts";
import type { MissCause } from "../miss-causes.ts";
import type { Part } from "../request.ts";
import type { CacheRules } from "../rules.ts";
import { isSamePiece, type PayloadBlock, payloadBlocks } from "./payload.ts";

export interface Answered {
	readonly atMs: number;
	/** Time since the last use of the cache. A ping is a use. */
	readonly gapMs: number;
	readonly model: string;
	readonly thinking?: string;
	readonly tokens: PromptTokens;
	/** The request as sent, if it was observed. Read only after a miss. */
	readonly payload?: unknown;
	readonly compacted?: boolean;
	readonly pruned?: boolean;
	readonly branched?: boolean;
	readonly misplaced?: Thinking;
}

export interface Miss {
	readonly atMs: number;
	readonly tokens: number;
	readonly cause: MissCause;
	readonly changed?: string;
}

/** Whether a request missed what its predecessor left in the cache, and why. */
export function diagnoseMiss(before: Answered, now: Answered, rules: CacheRules): Miss | undefined {
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

/** Providers round, and recount a block when another follows it: a smaller difference is noise. */
const LEAST_MISS = 256;

function leftBehind({ tokens }: Answered, { automatic, stepTokens }: CacheRules): number {
	// Providers that bill no writes cache silently, in steps.
	if (automatic !== "none" && tokens.write === 0) {
		const prompt = tokens.input + tokens.read;
		return tokens.read > 0 ? Math.floor(prompt / stepTokens) * stepTokens - stepTokens : 0;
	}
	return tokens.read + tokens.write;
}

function causeOf(
	before: Answered,
	now: Answered,
	rules: CacheRules,
	changed: PayloadBlock | undefined,
): MissCause | undefined {
	if (now.compacted) return "compaction";
	if (now.pruned) return "pruning";
	if (now.model !== before.model) return "model";
	const ttl = rules.ttlMs[before.tokens.writeOneHour > 0 ? "1h" : "5m"];
	if (now.gapMs >= ttl) return "expired";
	// Tools and system precede everything that a thinking setting invalidates.
	if (changed && changed.part !== "messages") return changed.part;
	if (now.branched) return "branch";
	const isOtherThinking = before.thinking !== undefined && now.thinking !== before.thinking;
	if (isOtherThinking && rules.invalidates.thinking) return "thinking";
	if (changed) return changed.part;
	const dropped = now.misplaced?.dropped ?? 0;
	return dropped > (before.misplaced?.dropped ?? 0) ? "dropped" : undefined;
}

const PARTS: readonly Part[] = ["tools", "system", "messages"];

function firstChange(before: unknown, now: unknown): PayloadBlock | undefined {
	const pieces = payloadBlocks(now);
	for (const [at, piece] of payloadBlocks(before).entries()) {
		const other = pieces[at];
		if (other && isSamePiece(piece, other)) continue;
		// If the last tool is gone, the unchanged system prompt takes its place.
		const isGone = !other || PARTS.indexOf(piece.part) < PARTS.indexOf(other.part);
		return isGone ? { ...piece, label: `${piece.label} (gone)` } : other;
	}
	return undefined;
}
