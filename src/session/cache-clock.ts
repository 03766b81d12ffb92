import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { type Bill, billOf, promptTokens, type Ttl, ttlOf } from "../core/bill.ts";
import { property } from "../core/property.ts";
import {
	bindsThinking,
	type CacheRules,
	type Coldness,
	isCold,
	rulesFor,
} from "../economy/rules.ts";
import type { HostContext, StartReason } from "./host.ts";
import type { SessionSource } from "./messages.ts";

/** The provider's prompt cache as seen from one moment of a session. */
export interface CacheClock {
	/** How the provider of the model in use caches. */
	readonly rules: CacheRules;
	/** How long the provider keeps what it caches, by the latest bill that states it. */
	readonly ttl: Ttl;
	/** Whether the request in flight, or else the next one, finds the cache cold, and why. */
	readonly coldness: Coldness;
	/**
	 * The entry of the last answer whose thinking is bound to all before it, by any model: the user may return to that
	 * model. `undefined` where every edit is harmless.
	 */
	readonly boundAnswer: string | undefined;
	/** The latest bill of this session; `undefined` until a request was billed since the session was opened. */
	readonly lastBill: Bill | undefined;
	/** Reports that the next request lacks old tool output on purpose: the miss that follows has that cause. */
	notePruned(): void;
}

/** What a request is sent with, besides the conversation. */
export interface SentWith {
	readonly model: string;
	readonly thinking: string;
	/** Identifies the system prompt as the request holds it; `undefined` before the request is built. */
	readonly head?: string;
	/** Identifies the tools; `undefined` where changing them does not touch the cached prefix. */
	readonly tools: string | undefined;
}

/** A request as it left, with all that a diagnosis of its bill needs. */
export interface SentRequest {
	/** What was sent to the provider; `undefined` if the request was not seen. */
	readonly payload: unknown;
	readonly atMs: number;
	/** Time since the cache was last used before it, which a ping also does. */
	readonly gapMs: number;
	readonly thinking?: string;
	readonly compacted: boolean;
	readonly pruned: boolean;
	readonly branched: boolean;
}

/** Follows one session: the loop feeds it with every event that touches the provider's cache. */
export interface CacheTimer {
	/** A session was opened. Its last use of the cache comes from its entries, on whichever branch. */
	open(ctx: Pick<HostContext, "sessionManager">, reason: StartReason): void;
	noteCompaction(): void;
	/** The user went to another branch. */
	noteBranch(): void;
	/** A request is being built: from now until {@link noteBuilt} the clock speaks of it. */
	noteRequest(next: SentWith, rules: CacheRules): void;
	noteBuilt(): void;
	/** A request left: a new one, a retry, or a ping that keeps the cache warm. */
	notePayload(payload: unknown, thinking: string): void;
	/** An answer came. Returns the request that it was for, if it was billed. */
	noteAnswer(message: unknown): { bill: Bill; request: SentRequest } | undefined;
	/** The clock as read now. `next` is what the next request would be sent with. */
	at(
		ctx: Pick<HostContext, "model" | "modelRegistry" | "sessionManager">,
		next: () => SentWith,
	): CacheClock;
}

/** Makes the timer of a session. `now` is the time in milliseconds since 1970. */
export function createCacheTimer(now: () => number = () => Date.now()): CacheTimer {
	/** The last request, without its conversation. */
	let last: SentWith | undefined;
	/** When something last left for the provider, as far as the session knows: what gaps are counted from. */
	let sentMs: number | undefined;
	/** When the cache may have been used last: also by a fork's parent, or by a request that is being built. */
	let usedMs: number | undefined;
	let ttl: Ttl = "5m";
	let inFlight: Coldness | undefined;
	let compactedSinceRequest = false;
	let lastBill: Bill | undefined;
	/** What happened since the last bill. */
	let unbilled = nothingYet();

	return {
		open(ctx, reason) {
			const before = lastUse(ctx.sessionManager.getEntries());
			last = undefined;
			sentMs = before.atMs;
			// A fork's parent may have been in use a moment ago, which the fork's entries do not tell.
			usedMs = reason === "fork" ? now() : before.atMs;
			ttl = before.ttl ?? "5m";
			inFlight = undefined;
			compactedSinceRequest = false;
			lastBill = undefined;
			unbilled = nothingYet();
		},
		noteCompaction() {
			compactedSinceRequest = true;
			unbilled.compacted = true;
		},
		noteBranch() {
			unbilled.branched = true;
		},
		noteRequest(next, rules) {
			inFlight = coldnessFor(next, rules);
			last = next;
			compactedSinceRequest = false;
			usedMs = now();
		},
		noteBuilt() {
			inFlight = undefined;
		},
		notePayload(payload, thinking) {
			const atMs = now();
			const gapMs = Math.max(unbilled.sent?.gapMs ?? 0, atMs - (sentMs ?? atMs));
			unbilled.sent = { payload, atMs, gapMs, thinking };
			sentMs = atMs;
			// A ping before any request leaves nothing of this session in the cache.
			if (usedMs !== undefined) usedMs = atMs;
		},
		noteAnswer(message) {
			const bill = billOf(message);
			if (!bill) return undefined;
			lastBill = bill;
			ttl = ttlOf(bill.tokens) ?? ttl;
			const { sent, compacted, pruned, branched } = unbilled;
			unbilled = nothingYet();
			const request = sent ?? { payload: undefined, atMs: now(), gapMs: 0 };
			return { bill, request: { ...request, compacted, pruned, branched } };
		},
		at: (ctx, next) => ({
			get rules() {
				return rulesOf(ctx);
			},
			get ttl() {
				return ttl;
			},
			get coldness() {
				return inFlight ?? coldnessFor(next(), rulesOf(ctx));
			},
			get boundAnswer() {
				return lastBoundAnswer(ctx.sessionManager, (model) =>
					bindsThinking(ctx.modelRegistry.find(model.provider, model.id) ?? model),
				);
			},
			get lastBill() {
				return lastBill;
			},
			notePruned() {
				unbilled.pruned = true;
			},
		}),
	};

	function coldnessFor(next: SentWith, { ttlMs, invalidates }: CacheRules): Coldness {
		const isOther = (part: keyof SentWith) =>
			last?.[part] !== undefined && next[part] !== undefined && last[part] !== next[part];
		return isCold({
			compacted: compactedSinceRequest,
			gapMs: usedMs === undefined ? Number.POSITIVE_INFINITY : now() - usedMs,
			ttlMs: ttlMs[ttl],
			modelChanged: isOther("model"),
			toolsChanged: isOther("head") || isOther("tools"),
			thinkingChanged: invalidates.thinking !== undefined && isOther("thinking"),
		});
	}
}

interface Unbilled {
	/** The latest request that left, with the longest gap before any that was not billed. */
	sent?: Pick<SentRequest, "payload" | "atMs" | "gapMs" | "thinking">;
	compacted: boolean;
	pruned: boolean;
	branched: boolean;
}

function nothingYet(): Unbilled {
	return { compacted: false, pruned: false, branched: false };
}

/** How the provider of a model caches; of no model, by what is documented of none. */
export function rulesOf({ model }: Pick<HostContext, "model">): CacheRules {
	return rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

/** When a session's cache was last used, on whichever branch, and what its last answer paid for. */
function lastUse(entries: ReturnType<HostContext["sessionManager"]["getEntries"]>): {
	atMs: number | undefined;
	ttl: Ttl | undefined;
} {
	// Session files may hold anything.
	const isAnswer = (entry: (typeof entries)[number]) =>
		entry.type === "message" && property(entry.message, "role") === "assistant";
	// A ping leaves a usage entry.
	const used = entries.findLast((entry) => isAnswer(entry) || entry.type === "usage");
	const answer = entries.findLast(isAnswer);
	return {
		atMs: used && (Date.parse(used.timestamp) || undefined),
		ttl: ttlOf(promptTokens(property(property(answer, "message"), "usage"))),
	};
}

/** A model by its names, as an answer in a session states them. */
export interface AnsweringModel {
	readonly provider: string;
	readonly id: string;
}

/**
 * The entry of the last answer whose thinking is bound to everything before it: an edit before that entry would lose it.
 * `binds` says which models bind. `undefined` where any edit is harmless: no such answer since the last compaction, which
 * replaced the beginning and with it lost the thinking of all answers that it kept.
 */
export function lastBoundAnswer(
	source: Pick<SessionSource, "getBranch">,
	binds: (model: AnsweringModel) => boolean,
): string | undefined {
	const bound = source.getBranch().findLast((entry) => {
		if (entry.type === "compaction") return true;
		const model = thinkingModel(entry);
		return model !== undefined && binds(model);
	});
	return bound?.type === "compaction" ? undefined : bound?.id;
}

/** The model whose thinking an entry holds. Pi does not send answers that failed or were aborted. */
function thinkingModel(entry: SessionEntry): AnsweringModel | undefined {
	if (entry.type !== "message" || entry.message.role !== "assistant") return undefined;
	const { content, stopReason, provider, model } = entry.message;
	if (stopReason === "error" || stopReason === "aborted") return undefined;
	const thinks = content.some(({ type }) => type === "thinking");
	return thinks ? { provider, id: model } : undefined;
}
