import type { CacheRules, SinceLastRequest, Ttl } from "../economy/index.ts";

/** What a request is sent with, besides the conversation. */
export interface SentWith {
	readonly atMs: number;
	readonly model: string;
	readonly thinking: string;
	/** Stands for system prompt and tools: another one, and the provider has to be sent everything anew. */
	readonly head: string;
}

/** Follows what makes the provider's cache of a session cold. */
export interface ColdWatch {
	/** The conversation was compacted since the last request. */
	noteCompaction(): void;
	/** A request was sent. */
	noteSent(sent: SentWith): void;
	/** The cache was used without a new request of ours: a ping that keeps it warm. */
	noteUse(atMs: number): void;
	/** What has happened since the last request, if this one is sent now. */
	since(
		next: SentWith,
		rules: Pick<CacheRules, "ttlMs" | "invalidates">,
		ttl: Ttl,
	): SinceLastRequest;
}

/** Begins with a session: when it was last answered, if ever, and for how long the provider keeps what it cached then. */
export function createColdWatch(lastSentMs?: number, lastTtl?: Ttl): ColdWatch {
	let compacted = false;
	let last: SentWith | undefined;
	let usedMs = lastSentMs;

	return {
		noteCompaction() {
			compacted = true;
		},
		noteSent(sent) {
			last = sent;
			usedMs = sent.atMs;
			compacted = false;
		},
		noteUse(atMs) {
			if (usedMs !== undefined) usedMs = atMs;
		},
		since(next, { ttlMs, invalidates }, ttl) {
			return {
				compacted,
				gapMs: usedMs === undefined ? Number.POSITIVE_INFINITY : next.atMs - usedMs,
				ttlMs: ttlMs[last ? ttl : (lastTtl ?? ttl)],
				modelChanged: last !== undefined && last.model !== next.model,
				toolsChanged: last !== undefined && last.head !== next.head,
				thinkingChanged:
					invalidates.thinking !== undefined &&
					last !== undefined &&
					last.thinking !== next.thinking,
			};
		},
	};
}
