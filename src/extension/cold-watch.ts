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
	/** Something happened since the last request. */
	note(event: "compacted" | "branched" | "resumed"): void;
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

/** Begins with a session; `lastSentMs` is when it was last answered, if ever. */
export function createColdWatch(lastSentMs?: number): ColdWatch {
	const events = { compacted: false, branched: false, resumed: false };
	let last: SentWith | undefined;
	let usedMs = lastSentMs;

	return {
		note(event) {
			events[event] = true;
		},
		noteSent(sent) {
			last = sent;
			usedMs = sent.atMs;
			events.compacted = false;
			events.branched = false;
			events.resumed = false;
		},
		noteUse(atMs) {
			if (usedMs !== undefined) usedMs = atMs;
		},
		since(next, { ttlMs, invalidates }, ttl) {
			return {
				...events,
				gapMs: usedMs === undefined ? Number.POSITIVE_INFINITY : next.atMs - usedMs,
				ttlMs: ttlMs[ttl],
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
