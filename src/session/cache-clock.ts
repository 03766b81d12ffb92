import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { type Bill, billOf, promptTokens, type Ttl, ttlOf } from "../core/bill.ts";
import { property } from "../core/property.ts";
import {
	bindsThinking,
	type CacheRules,
	type Coldness,
	isCold,
	type ModelInfo,
	rulesFor,
} from "../economy/rules.ts";
import type { HostContext, StartReason } from "./host.ts";
import type { SessionSource } from "./messages.ts";

/** The provider's prompt cache at one moment of a session. */
export interface CacheClock {
	readonly rules: CacheRules;
	/** By the latest bill that states it. */
	readonly ttl: Ttl;
	/** Of the request in flight, or else the next one. */
	readonly coldness: Coldness;
	/** The last answer whose thinking an earlier edit would lose; see `lastBoundAnswer`. */
	readonly boundAnswer: string | undefined;
	/** The next request lacks old tool output on purpose: its cache miss has that cause. */
	notePruned(): void;
}

export interface SentWith {
	readonly model: string;
	readonly thinking: string;
	/** Identifies the system prompt; `undefined` before the request is built. */
	readonly head?: string;
	/** `undefined` where changing tools does not touch the cached prefix. */
	readonly tools: string | undefined;
}

export interface SentRequest {
	/** `undefined` if the request was not seen. */
	readonly payload: unknown;
	readonly atMs: number;
	/** Since the last use of the cache; a ping counts as use. */
	readonly gapMs: number;
	readonly thinking?: string;
	readonly compacted: boolean;
	readonly pruned: boolean;
	readonly branched: boolean;
}

/**
 * The session loop reports every event here that touches the provider's cache. `now` returns ms
 * since 1970.
 */
export function createCacheTimer(now: () => number = () => Date.now()) {
	let last: SentWith | undefined;
	/** Last known send to the provider; gaps count from here. */
	let sentMs: number | undefined;
	/** Last possible use of the cache: includes a fork's parent and a request being built. */
	let usedMs: number | undefined;
	let ttl: Ttl = "5m";
	let inFlight: Coldness | undefined;
	let compactedSinceRequest = false;
	let unbilled = nothingYet();

	return {
		/** The last use of the cache is read from the entries of all branches. */
		open(ctx: Pick<HostContext, "sessionManager">, reason: StartReason): void {
			const before = lastUse(ctx.sessionManager.getEntries());
			last = undefined;
			sentMs = before.atMs;
			// A fork's parent may have used the cache just now; the fork's entries do not show it.
			usedMs = reason === "fork" ? now() : before.atMs;
			ttl = before.ttl ?? "5m";
			inFlight = undefined;
			compactedSinceRequest = false;
			unbilled = nothingYet();
		},
		noteCompaction(): void {
			compactedSinceRequest = true;
			unbilled.compacted = true;
		},
		noteBranch(): void {
			unbilled.branched = true;
		},
		/** A request is being built: until `noteBuilt` the clock describes it. */
		noteRequest(next: SentWith, rules: CacheRules): void {
			inFlight = coldnessFor(next, rules);
			last = next;
			compactedSinceRequest = false;
			usedMs = now();
		},
		noteBuilt(): void {
			inFlight = undefined;
		},
		/** A request leaves: new, a retry, or a ping that keeps the cache warm. */
		notePayload(payload: unknown, thinking: string): void {
			const atMs = now();
			const gapMs = Math.max(unbilled.sent?.gapMs ?? 0, atMs - (sentMs ?? atMs));
			unbilled.sent = { payload, atMs, gapMs, thinking };
			sentMs = atMs;
			// A ping before any request leaves nothing of this session in the cache.
			if (usedMs !== undefined) usedMs = atMs;
		},
		/** Returns the answered request, if it was billed. */
		noteAnswer(message: unknown): { bill: Bill; request: SentRequest } | undefined {
			const bill = billOf(message);
			if (!bill) return undefined;
			ttl = ttlOf(bill.tokens) ?? ttl;
			const { sent, compacted, pruned, branched } = unbilled;
			unbilled = nothingYet();
			const request = sent ?? { payload: undefined, atMs: now(), gapMs: 0 };
			return { bill, request: { ...request, compacted, pruned, branched } };
		},
		at: (
			ctx: Pick<HostContext, "model" | "modelRegistry" | "sessionManager">,
			next: () => SentWith,
		): CacheClock => ({
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
	/** The latest request sent, with the longest gap before any unbilled one. */
	sent?: Pick<SentRequest, "payload" | "atMs" | "gapMs" | "thinking">;
	compacted: boolean;
	pruned: boolean;
	branched: boolean;
}

function nothingYet(): Unbilled {
	return { compacted: false, pruned: false, branched: false };
}

export function rulesOf({ model }: Pick<HostContext, "model">): CacheRules {
	return rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

/** Session files are untrusted. */
function lastUse(entries: readonly SessionEntry[]) {
	const isAnswer = (entry: SessionEntry) =>
		entry.type === "message" && property(entry.message, "role") === "assistant";
	// A ping leaves a usage entry.
	const used = entries.findLast((entry) => isAnswer(entry) || entry.type === "usage");
	const answer = entries.findLast(isAnswer);
	return {
		atMs: (used && Date.parse(used.timestamp)) || undefined,
		ttl: ttlOf(promptTokens(property(property(answer, "message"), "usage"))),
	};
}

type AnsweringModel = Pick<ModelInfo, "provider" | "id">;

/**
 * The last answer whose thinking an edit before it would lose. `undefined` if none since the last
 * compaction, which drops the thinking of all answers it keeps.
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

/** Pi does not send answers that failed or were aborted. */
function thinkingModel(entry: SessionEntry): AnsweringModel | undefined {
	if (entry.type !== "message" || entry.message.role !== "assistant") return undefined;
	const { content, stopReason, provider, model } = entry.message;
	if (stopReason === "error" || stopReason === "aborted") return undefined;
	const thinks = content.some(({ type }) => type === "thinking");
	return thinks ? { provider, id: model } : undefined;
}
