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
	/** The TTL in the latest bill that states one; "5m" before that. */
	readonly ttl: Ttl;
	/** Coldness for the request being built, or else for the next request. */
	readonly coldness: Coldness;
	/** Id of the last answer that would lose thinking if text before it were edited; see `lastBoundAnswer`. */
	readonly boundAnswer: string | undefined;
	/** Records that old text was replaced in the next request, which explains its cache miss, and how much is gone. */
	notePruned(removedTokens?: number): void;
	/** Takes that back, before a request has shown it. */
	noteUnpruned(removedTokens?: number): void;
	/** Records that the provider holds most of the last prompt for this long, whatever its last write was for. */
	noteTtl(ttl: Ttl): void;
}

/** The parts of a request that its cached prefix depends on. */
export interface PrefixKey {
	readonly model: string;
	readonly thinking: string;
	/** Identifies the system prompt; `undefined` before the request is built. */
	readonly head?: string;
	/** `undefined` if changing the tools leaves the cached prefix intact. */
	readonly tools: string | undefined;
}

interface SentRequest {
	/** `undefined` if the request was not observed. */
	readonly payload: unknown;
	readonly atMs: number;
	/** Time since the start of the last use of the cache; a ping counts as use. */
	readonly gapMs: number;
	readonly thinking?: string;
	readonly compacted: boolean;
	readonly pruned: boolean;
	/** Tokens that pruning took out of the prompt. */
	readonly removedTokens?: number;
	readonly branched: boolean;
}

export interface BilledRequest {
	readonly bill: Bill;
	readonly request: SentRequest;
}

interface TrackerOptions {
	/** Entries of all branches, since any of them may have used the cache last. */
	readonly entries?: readonly SessionEntry[];
	readonly reason?: StartReason;
	/** Ms since 1970. */
	readonly now?: () => number;
}

/** Tracks the provider's cache from the start of a session. The session loop reports every event. */
export class CacheTracker {
	readonly #now: () => number;
	#last: PrefixKey | undefined;
	/** Time of the last known request. Gaps are measured from it. */
	#sentMs: number | undefined;
	/** When the cache was last possibly used, also by a fork's parent or by a request being built. */
	#usedMs: number | undefined;
	#ttl: Ttl;
	/** Lifetime of most of the last prompt, if it differs from that of its last write. */
	#heldTtl: Ttl | undefined;
	/** Coldness for the request being built; `undefined` between requests. */
	#coldness: Coldness | undefined;
	#compactedSinceRequest = false;
	#unbilled = nothingYet();

	constructor({ entries = [], reason, now = () => Date.now() }: TrackerOptions = {}) {
		const { atMs, ttl = "5m" } = lastUse(entries);
		this.#now = now;
		this.#ttl = ttl;
		this.#sentMs = atMs;
		// A fork's parent may have used the cache just now; the fork's entries do not show that use.
		this.#usedMs = reason === "fork" ? now() : atMs;
	}

	noteCompaction(): void {
		this.#compactedSinceRequest = true;
		this.#unbilled.compacted = true;
	}

	noteBranch(): void {
		this.#unbilled.branched = true;
	}

	/** Called when a request is being built. Until `noteBuilt`, the clock describes that request. */
	noteRequest(next: PrefixKey, rules: CacheRules): void {
		this.#coldness = this.#coldnessFor(next, rules);
		this.#last = next;
		this.#compactedSinceRequest = false;
		this.#usedMs = this.#now();
	}

	noteBuilt(): void {
		this.#coldness = undefined;
	}

	/** Called when a request is sent: a new one, a retry, or a ping that keeps the cache warm. */
	notePayload(payload: unknown, thinking: string): void {
		const atMs = this.#now();
		const gapMs = Math.max(this.#unbilled.sent?.gapMs ?? 0, atMs - (this.#sentMs ?? atMs));
		this.#unbilled.sent = { payload, atMs, gapMs, thinking };
		this.#sentMs = atMs;
		// A ping before the first request puts nothing of this session into the cache.
		if (this.#usedMs !== undefined) this.#usedMs = atMs;
	}

	/** Returns the answered request, if it was billed. */
	noteAnswer(message: unknown): BilledRequest | undefined {
		const bill = billOf(message, this.#now());
		if (!bill) return undefined;
		this.#ttl = ttlOf(bill.tokens) ?? this.#ttl;
		this.#heldTtl = undefined;
		const { sent, compacted, pruned, removedTokens, branched } = this.#unbilled;
		this.#unbilled = nothingYet();
		const request = sent ?? { payload: undefined, atMs: bill.atMs, gapMs: 0 };
		const changes = {
			compacted,
			pruned: pruned > 0,
			branched,
			...(removedTokens > 0 && { removedTokens }),
		};
		return { bill, request: { ...request, ...changes } };
	}

	/** Returns the clock for one call. `next` is evaluated only when the coldness is needed. */
	clockFor(
		ctx: Pick<HostContext, "model" | "modelRegistry" | "sessionManager">,
		next: () => PrefixKey,
	): CacheClock {
		const ttl = () => this.#ttl;
		const coldness = () => this.#coldness ?? this.#coldnessFor(next(), rulesOf(ctx));
		return {
			get rules() {
				return rulesOf(ctx);
			},
			get ttl() {
				return ttl();
			},
			get coldness() {
				return coldness();
			},
			get boundAnswer() {
				return lastBoundAnswer(ctx.sessionManager, (model) =>
					bindsThinking(ctx.modelRegistry.find(model.provider, model.id) ?? model),
				);
			},
			notePruned: (removedTokens = 0) => {
				this.#unbilled.pruned++;
				this.#unbilled.removedTokens += removedTokens;
			},
			noteUnpruned: (removedTokens = 0) => {
				this.#unbilled.pruned--;
				this.#unbilled.removedTokens -= removedTokens;
			},
			noteTtl: (ttl) => {
				this.#heldTtl = ttl;
			},
		};
	}

	#coldnessFor(next: PrefixKey, { ttlMs, invalidates }: CacheRules): Coldness {
		const last = this.#last;
		const isOther = (part: keyof PrefixKey) =>
			last?.[part] !== undefined && next[part] !== undefined && last[part] !== next[part];
		return isCold({
			compacted: this.#compactedSinceRequest,
			gapMs: this.#usedMs === undefined ? Number.POSITIVE_INFINITY : this.#now() - this.#usedMs,
			ttlMs: ttlMs[this.#heldTtl ?? this.#ttl],
			modelChanged: isOther("model"),
			toolsChanged: isOther("head") || isOther("tools"),
			thinkingChanged: invalidates.thinking !== undefined && isOther("thinking"),
		});
	}
}

interface Unbilled {
	/** The latest request, with the longest gap before any request that is not billed yet. */
	sent?: Pick<SentRequest, "payload" | "atMs" | "gapMs" | "thinking">;
	compacted: boolean;
	/** How often. */
	pruned: number;
	removedTokens: number;
	branched: boolean;
}

function nothingYet(): Unbilled {
	return { compacted: false, pruned: 0, removedTokens: 0, branched: false };
}

export function rulesOf({ model }: Pick<HostContext, "model">): CacheRules {
	return rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

/** Reads the time and TTL of the last use of the cache from untrusted entries. */
function lastUse(entries: readonly SessionEntry[]) {
	const isAnswer = (entry: SessionEntry) =>
		entry.type === "message" && property(entry.message, "role") === "assistant";
	// A ping is stored as a usage entry.
	const used = entries.findLast((entry) => isAnswer(entry) || entry.type === "usage");
	const answer = entries.findLast(isAnswer);
	return {
		atMs: used && startOf(used),
		ttl: ttlOf(promptTokens(property(property(answer, "message"), "usage"))),
	};
}

/** Pi writes an entry when the answer has ended; a ping's start is not stored, its end is close. */
function startOf(entry: SessionEntry): number | undefined {
	const startedMs = entry.type === "message" ? property(entry.message, "timestamp") : undefined;
	const times = [startedMs, Date.parse(entry.timestamp)].filter(Number.isFinite) as number[];
	return times.length > 0 ? Math.min(...times) : undefined;
}

type AnsweringModel = Pick<ModelInfo, "provider" | "id">;

/** Id of the last answer that would lose thinking by an edit before it. A compaction drops all thinking. */
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

/** The model of an answer with thinking. `undefined` for failed or aborted answers: pi does not send them. */
function thinkingModel(entry: SessionEntry): AnsweringModel | undefined {
	if (entry.type !== "message" || entry.message.role !== "assistant") return undefined;
	const { content, stopReason, provider, model } = entry.message;
	if (stopReason === "error" || stopReason === "aborted") return undefined;
	const thinks = content.some(({ type }) => type === "thinking");
	return thinks ? { provider, id: model } : undefined;
}
