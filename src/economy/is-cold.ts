/** What happened since the last request of a session. */
export interface SinceLastRequest {
	/** Time since the last request that used the cache. */
	readonly gapMs: number;
	/** How long the provider keeps what that request cached. */
	readonly ttlMs: number;
	readonly modelChanged?: boolean;
	readonly toolsChanged?: boolean;
	readonly thinkingChanged?: boolean;
	readonly compacted?: boolean;
}

/** Whether the conversation has to be written anew anyway, and the weightiest reason why. */
export type Coldness =
	| { readonly cold: false }
	| {
			readonly cold: true;
			readonly why: "model" | "tools" | "compaction" | "thinking" | "gap";
	  };

/**
 * While the cache is cold, changing the conversation costs nothing: it is about to be written in full. Another branch, a
 * fork or a resumed session is not cold by itself: its beginning was sent before, and may be in the cache.
 */
export function isCold(since: SinceLastRequest): Coldness {
	if (since.modelChanged) return { cold: true, why: "model" };
	if (since.toolsChanged) return { cold: true, why: "tools" };
	if (since.compacted) return { cold: true, why: "compaction" };
	if (since.thinkingChanged) return { cold: true, why: "thinking" };
	// An entry is dead at the instant its time is over.
	if (since.gapMs >= since.ttlMs) return { cold: true, why: "gap" };
	return { cold: false };
}
