import type { BlobStore } from "../core/blob-store.ts";
import type { Candidate } from "./candidates.ts";
import { stubFor } from "./stub.ts";

/** A result that now has a stub and a stored original. */
export interface Pruned {
	readonly entryId: string;
	readonly toolCallId: string;
	readonly stub: string;
	readonly freedTokens: number;
}

/** What became of a batch. `why` names what kept the rest from being pruned, in words. */
export interface Batch {
	readonly pruned: readonly Pruned[];
	readonly why?: string;
}

/** More at once would hold up the turn: pi appends each to the session file by itself. */
const MAX_BATCH = 500;

/**
 * Stores the original of each candidate and makes its stub, those first that were shown again or have changed
 * since. Nothing gets a stub whose original was not stored before.
 */
export async function prune(candidates: readonly Candidate[], blobs: BlobStore): Promise<Batch> {
	const pruned: Pruned[] = [];
	const first = candidates.filter(({ why }) => why === "superseded");
	const then = candidates.filter(({ why }) => why !== "superseded");
	for (const { item } of [...first, ...then].slice(0, MAX_BATCH)) {
		const { text, entryId, toolCallId } = item;
		if (text === undefined) continue;
		const kept = await blobs.keep(text);
		// A store that failed once fails again: the rest waits for the next time.
		if (kept.kind === "not-kept") return { pruned, why: kept.why };
		const stub = stubFor(item, text, kept.blob);
		if (stub === undefined) continue;
		const freedTokens = item.tokens - Math.ceil(stub.length / 4);
		pruned.push({ entryId, toolCallId, stub, freedTokens });
	}
	return { pruned };
}
