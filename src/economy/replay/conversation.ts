import type { Entry, SourceBlock, SystemChange } from "./entry.ts";
import { type Head, headAfter } from "./system-message.ts";

export interface Conversation {
	readonly head: Head | undefined;
	/** In send order. Valid until the next `at`. */
	readonly blocks: readonly SourceBlock[];
	readonly thinking: string;
	/** Changes since the previous `at`, apart from growth. */
	readonly changes: ReadonlySet<"compaction" | "edit" | "branch">;
	/** Entries and system-prompt pieces visited: a measure of work. */
	readonly visited: number;
}

/** Walks the session tree. Continuing from the previous entry costs only the new ones. */
export interface ConversationWalk {
	/** Up to and including an entry; -1 is the empty conversation. */
	at(leaf: number): Conversation;
}

/** `heads` caches system prompts across walks of the same entries. */
export function createConversationWalk(
	entries: readonly Entry[],
	heads = new Map<number, Head | undefined>(),
): ConversationWalk {
	let leaf = -1;
	let current: Draft = { changesOfHead: [], blocks: [], thinking: "off" };
	let head: Head | undefined;

	return {
		at(target) {
			const fresh = entriesBetween(entries, leaf, target);
			const changes = new Set<"compaction" | "edit" | "branch">();
			for (const entry of fresh ?? []) {
				if (entry.type === "compaction" || entry.type === "edit") changes.add(entry.type);
			}
			if (!fresh) changes.add("branch");
			let visited = fresh?.length ?? 0;
			if (changes.size === 0) {
				for (const entry of fresh ?? []) append(current, entry);
			} else {
				const path = entriesBetween(entries, -1, target) ?? [];
				visited += path.length;
				current = project(path);
			}
			if (changes.size > 0 || fresh?.some(({ type }) => type === "system")) {
				for (const { sections, toolsAdded } of current.changesOfHead) {
					visited += 1 + sections.size + toolsAdded.size;
				}
				if (!heads.has(target)) heads.set(target, headAfter(current.changesOfHead));
				head = heads.get(target);
			}
			leaf = target;
			return {
				head,
				blocks: current.blocks,
				thinking: current.thinking,
				changes,
				visited,
			};
		},
	};
}

interface Draft {
	changesOfHead: SystemChange[];
	blocks: SourceBlock[];
	thinking: string;
}

/** Oldest first, without `from`; `undefined` if `from` is no ancestor of `to`. */
function entriesBetween(entries: readonly Entry[], from: number, to: number): Entry[] | undefined {
	const path: Entry[] = [];
	let at = to;
	// Parents precede their children, so a position below `from` means that it was missed.
	while (at > from) {
		const entry = entries[at] as Entry;
		path.push(entry);
		at = entry.parent;
	}
	return at === from ? path.reverse() : undefined;
}

/** What pi sends: the latest compaction, what it kept, all since; the newest edits applied. */
function project(path: readonly Entry[]): Draft {
	const draft: Draft = { changesOfHead: [], blocks: [], thinking: "off" };
	const compactedAt = path.findLastIndex((entry) => entry.type === "compaction");
	const compaction = path[compactedAt];
	const sent = compaction?.type === "compaction" ? afterCompaction(path, compactedAt) : path;
	const edits = new Map<string, Entry & { type: "edit" }>();
	for (const entry of sent) if (entry.type === "edit") edits.set(entry.targetId, entry);
	for (const entry of path) if (entry.type === "thinking") draft.thinking = entry.level;
	if (compaction?.type === "compaction") {
		draft.changesOfHead = compaction.change
			? [compaction.change]
			: path.slice(0, compactedAt).flatMap((e) => (e.type === "system" ? [e.change] : []));
		addAll(draft.blocks, compaction.blocks);
	}
	for (const entry of sent) append(draft, entry, edits.get(entry.id));
	return draft;
}

function afterCompaction(path: readonly Entry[], at: number): Entry[] {
	const compaction = path[at] as Entry & { type: "compaction" };
	const kept = path.findIndex(({ id }) => id === compaction.firstKeptId);
	const before = kept >= 0 && kept < at ? path.slice(kept, at) : [];
	return [...before.filter(({ type }) => type !== "system"), ...path.slice(at + 1)];
}

function append(draft: Draft, entry: Entry, edit?: Entry & { type: "edit" }): void {
	switch (entry.type) {
		case "message":
			addAll(draft.blocks, (edit ?? entry).blocks);
			return;
		case "assistant":
			if (entry.answer.isKept) addAll(draft.blocks, (edit ?? entry).blocks);
			return;
		case "system":
			draft.changesOfHead.push(entry.change);
			return;
		case "thinking":
			draft.thinking = entry.level;
			return;
		default:
			return; // compactions and edits are applied already; the rest is not sent
	}
}

function addAll(to: SourceBlock[], blocks: readonly SourceBlock[]): void {
	for (const block of blocks) to.push(block); // not spread: untrusted messages could overflow the stack
}
