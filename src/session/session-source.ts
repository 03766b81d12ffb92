import type { SessionEntry, SessionProjection } from "@earendil-works/pi-coding-agent";

/** The part of pi's session manager that the ledger reads. Older hosts and stand-ins lack the optional methods. */
export interface SessionSource {
	getSessionId(): string;
	getLeafId(): string | null;
	getBranch(): SessionEntry[];
	getEntry?(id: string): SessionEntry | undefined;
	buildSessionProjection?(): SessionProjection;
}

/** An entry of the active context with the messages it contributes to a request, context edits applied. */
export type ActiveEntry = SessionProjection["entries"][number];

/** Everything on the current branch that is in the active context, in branch order. */
export function activeEntries(source: SessionSource): ActiveEntry[] {
	if (source.buildSessionProjection) return source.buildSessionProjection().entries;
	return entriesAfterCompaction(source.getBranch()).map((sourceEntry) => ({
		sourceEntry,
		messages: sourceEntry.type === "message" ? [sourceEntry.message] : [],
	}));
}

/**
 * The entries between `ancestorId` and the leaf, oldest first; `undefined` when the ancestor is not above the leaf
 * (the user went elsewhere in the tree) or the source cannot look entries up.
 */
export function entriesSince(
	source: SessionSource,
	ancestorId: string,
): SessionEntry[] | undefined {
	if (!source.getEntry) return undefined;
	const fresh: SessionEntry[] = [];
	for (let id = source.getLeafId(); id !== ancestorId; ) {
		const entry = id === null ? undefined : source.getEntry(id);
		if (!entry) return undefined;
		fresh.push(entry);
		id = entry.parentId;
	}
	return fresh.reverse();
}

/** For hosts without a projection, which have no context edits either: what the latest compaction kept, and all since. */
function entriesAfterCompaction(branch: SessionEntry[]): SessionEntry[] {
	const at = branch.findLastIndex((entry) => entry.type === "compaction");
	const compaction = branch[at];
	if (compaction?.type !== "compaction") return branch;
	const kept = branch.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
	return kept >= 0 && kept < at ? branch.slice(kept) : branch.slice(at + 1);
}
