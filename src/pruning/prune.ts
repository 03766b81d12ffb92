import type { Blob, BlobStore } from "../core/blob-store.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { ToolResultItem } from "../session/index.ts";
import type { Candidate } from "./candidates.ts";
import { stubFor } from "./stub.ts";

/** A result that has a stub and a stored original. */
export interface Pruned {
	readonly entryId: string;
	readonly toolCallId: string;
	readonly original: string;
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

/** Files written side by side. */
const SIDE_BY_SIDE = 8;

/**
 * Stores the original of each candidate and makes its stub, those first that were shown again or have changed
 * since. Nothing gets a stub whose original was not stored before, and found there as it was.
 */
export function prune(candidates: readonly Candidate[], blobs: BlobStore): Promise<Batch> {
	const first = candidates.filter(({ why }) => why === "superseded");
	const then = candidates.filter(({ why }) => why !== "superseded");
	const chosen = [...first, ...then].slice(0, MAX_BATCH);
	return inGroups(chosen, (candidate) => pruneOne(candidate, blobs));
}

/** Of stubs made for an earlier request, those whose original is kept now: what was deleted since is stored again. */
export function keepAgain(pruned: readonly Pruned[], blobs: BlobStore): Promise<Batch> {
	return inGroups(pruned, async (one) => {
		const kept = await keepProven(one.original, blobs);
		return typeof kept === "string" ? kept : one;
	});
}

/** Does some at a time, until all of them fail: one text may be at fault by itself, else it is the store. */
async function inGroups<Item>(
	items: readonly Item[],
	work: (item: Item) => Promise<Pruned | string>,
): Promise<Batch> {
	const pruned: Pruned[] = [];
	let why: string | undefined;
	for (let start = 0; start < items.length; start += SIDE_BY_SIDE) {
		const outcomes = await Promise.all(items.slice(start, start + SIDE_BY_SIDE).map(work));
		const done = outcomes.filter((outcome) => typeof outcome !== "string");
		pruned.push(...done);
		why ??= outcomes.find((outcome) => typeof outcome === "string");
		if (done.length === 0) break;
	}
	return { pruned, ...(why !== undefined && { why }) };
}

/** The stub, or in words why there is none. */
async function pruneOne({ item }: Candidate, blobs: BlobStore): Promise<Pruned | string> {
	const { text: original } = item;
	if (original === undefined) return "the result holds more than text";
	const kept = await keepProven(original, blobs);
	if (typeof kept === "string") return kept;
	const stub = stubFor(item, original, kept);
	const pruned = stub === undefined ? undefined : prunedAs(item, stub);
	return pruned ?? "the path of the blob folder is too long to be named in a stub";
}

/** A result with a stub that it has or had already; `undefined` if it holds more than text. */
export function prunedAs(item: ToolResultItem, stub: string): Pruned | undefined {
	const { entryId, toolCallId, text: original, tokens } = item;
	if (original === undefined) return undefined;
	const freedTokens = tokens - estimateTokens(stub.length);
	return { entryId, toolCallId, original, stub, freedTokens };
}

/** Keeps a text and reads it back: a copy that was there before may have been damaged since. */
async function keepProven(text: string, blobs: BlobStore): Promise<Blob | string> {
	for (let attempt = 1; ; attempt++) {
		const kept = await blobs.keep(text);
		if (kept.kind === "not-kept") return kept.why;
		const loaded = await blobs.load(kept.blob.id);
		if (loaded.kind === "found" && loaded.text === text) return kept.blob;
		// A damaged copy is deleted by the attempt to load it.
		if (attempt === 2) return loaded.kind === "failed" ? loaded.why : "the copy is not as it was";
	}
}

/** Candidates that can be replaced in a request: there results are known by their calls, and some ids are used twice. */
export function knownByCall(
	candidates: readonly Candidate[],
	results: ReadonlyMap<string, ToolResultItem>,
): Candidate[] {
	const byCall = Map.groupBy(results.values(), ({ toolCallId }) => toolCallId);
	return candidates.filter(({ item }) => byCall.get(item.toolCallId)?.length === 1);
}

/** What stands in the session for a pruned result. In a list, as tools return it: pi sends both forms alike. */
export function contentOf({ stub }: Pruned): { type: "text"; text: string }[] {
	return [{ type: "text", text: stub }];
}
