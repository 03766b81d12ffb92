import { property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { contentHash, nameOr } from "./content-hash.ts";
import type { Entry, SourceBlock } from "./entry.ts";

export interface Conversation {
	readonly head: Head | undefined;
	/** In the order they are sent. Valid until the next call of the walk. */
	readonly blocks: readonly SourceBlock[];
	readonly thinking: string;
	/** Changes since the previous call of the walk, apart from growth. */
	readonly changes: ReadonlySet<"compaction" | "edit" | "branch">;
	/** Number of blocks of the previous conversation, if this one only continues it. */
	readonly continues: number | undefined;
	/** Number of entries and system-prompt pieces visited, as a measure of work. */
	readonly visited: number;
}

/**
 * Walks the session tree: each call returns the conversation up to and including an entry; -1 means
 * an empty conversation. Continuing from the previous entry visits only new entries. `heads` caches
 * system prompts across walks of the same entries.
 */
export function createConversationWalk(
	entries: readonly Entry[],
	heads = new Map<number, Head | undefined>(),
) {
	let leaf = -1;
	let current = emptyContent();
	let head: Head | undefined;
	/** Number of blocks that the last call returned. */
	let given: number | undefined;

	return (target: number): Conversation => {
		const fresh = entriesBetween(entries, leaf, target);
		const changes = new Set<"compaction" | "edit" | "branch">();
		for (const entry of fresh ?? []) {
			if (entry.type === "compaction" || entry.type === "edit") changes.add(entry.type);
		}
		if (!fresh) changes.add("branch");
		let continues = changes.size === 0 ? given : undefined;
		let visited = fresh?.length ?? 0;
		if (changes.size === 0) {
			for (const entry of fresh ?? []) append(current, entry);
		} else {
			const path = entriesBetween(entries, -1, target) ?? [];
			visited += path.length;
			current = project(path);
		}
		if (changes.size > 0 || fresh?.some(({ type }) => type === "system")) {
			for (const { sections, toolsAdded } of current.headChanges) {
				visited += 1 + sections.size + toolsAdded.size;
			}
			if (!heads.has(target)) heads.set(target, headAfter(current.headChanges));
			if (head !== heads.get(target)) continues = undefined;
			head = heads.get(target);
		}
		leaf = target;
		const { blocks, thinking } = current;
		given = blocks.length;
		return { head, blocks, thinking, changes, continues, visited };
	};
}

/** The content of a branch as pi sends it; it grows in place. */
type BranchContent = ReturnType<typeof emptyContent>;

function emptyContent() {
	return { headChanges: [] as SystemChange[], blocks: [] as SourceBlock[], thinking: "off" };
}

/** Returns the path from `from` (excluded) to `to`; `undefined` if `from` is not an ancestor of `to`. */
function entriesBetween(entries: readonly Entry[], from: number, to: number): Entry[] | undefined {
	const path: Entry[] = [];
	let at = to;
	// Parents precede their children, so a path that has passed `from` cannot reach it any more.
	while (at > from) {
		const entry = entries[at] as Entry;
		path.push(entry);
		at = entry.parent;
	}
	return at === from ? path.reverse() : undefined;
}

/** As in pi: the latest compaction, the entries it kept and all later ones, with the newest edits applied. */
function project(path: readonly Entry[]): BranchContent {
	const content = emptyContent();
	const at = path.findLastIndex((entry) => entry.type === "compaction");
	const compaction = path[at];
	let sent = path;
	if (compaction?.type === "compaction") {
		const kept = path.findIndex(({ id }) => id === compaction.firstKeptId);
		const before = kept >= 0 && kept < at ? path.slice(kept, at) : [];
		sent = [...before.filter(({ type }) => type !== "system"), ...path.slice(at + 1)];
		content.headChanges = compaction.change
			? [compaction.change]
			: path.slice(0, at).flatMap((entry) => (entry.type === "system" ? [entry.change] : []));
		addAll(content.blocks, compaction.blocks);
	}
	const edits = new Map<string, Entry & { type: "edit" }>();
	for (const entry of sent) if (entry.type === "edit") edits.set(entry.targetId, entry);
	for (const entry of path) if (entry.type === "thinking") content.thinking = entry.level;
	for (const entry of sent) append(content, entry, edits.get(entry.id));
	return content;
}

function append(content: BranchContent, entry: Entry, edit?: Entry & { type: "edit" }): void {
	if (entry.type === "system") content.headChanges.push(entry.change);
	if (entry.type === "thinking") content.thinking = entry.level;
	// Compactions and edits are applied already. Other types are not sent.
	if (entry.type === "message" || (entry.type === "assistant" && entry.isKept)) {
		addAll(content.blocks, (edit ?? entry).blocks);
	}
}

function addAll(to: SourceBlock[], blocks: readonly SourceBlock[]): void {
	for (const block of blocks) to.push(block); // not spread: untrusted messages could overflow the stack
}

interface Sized {
	readonly hash: string;
	readonly tokens: number;
}

export interface Head {
	/** `tokens` is `undefined` if the session file does not show the tools. */
	readonly tools: Omit<Sized, "tokens"> & { readonly tokens: number | undefined };
	readonly system: Sized;
}

export type SystemChange = ReturnType<typeof systemChangeOf> & {
	/** The agent stores its system prompt without the tools. */
	readonly hidesTools?: true;
};

export function systemChangeOf(message: unknown) {
	const content = property(message, "content") ?? "";
	const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
	const sections = Object.entries(objectOr(property(message, "sections")));
	const toolsAdded = listOr(property(message, "toolsAdded"));
	return {
		replace: property(message, "replace") === true,
		text: isEmpty ? undefined : sized(content),
		sections: new Map(
			sections.map(([name, text]) => [nameOr(name, ""), text === null ? null : sized(text)]),
		),
		toolsAdded: new Map(toolsAdded.map((tool) => [nameOf(tool), sized(tool)])),
		toolsRemoved: listOr(property(message, "toolsRemoved")).map(nameOf),
	};
}

/** Merges as pi does for models with one system prompt. Returns `undefined` if an older pi stored none. */
export function headAfter(changes: readonly SystemChange[]): Head | undefined {
	if (changes.length === 0) return undefined;
	const last = changes.findLastIndex((change) => change.replace);
	const texts: Sized[] = [];
	const sections = new Map<string, Sized>();
	const tools = new Map<string, Sized>();
	for (const change of changes.slice(Math.max(0, last))) {
		if (change.text) texts.push(change.text);
		for (const [name, text] of change.sections) {
			if (text === null) sections.delete(name);
			else sections.set(name, text);
		}
		for (const name of change.toolsRemoved) tools.delete(name);
		for (const [name, tool] of change.toolsAdded) tools.set(name, tool);
	}
	const { hash, tokens } = joined(tools.values());
	const isHidden = tools.size === 0 && changes.some(({ hidesTools }) => hidesTools);
	return {
		tools: { hash, tokens: isHidden ? undefined : tokens },
		system: joined([...texts, ...sections.values()]),
	};
}

function joined(parts: Iterable<Sized>): Sized {
	const all = [...parts];
	const hashes = all.map((part) => part.hash);
	const tokens = all.reduce((sum, part) => sum + part.tokens, 0);
	return { hash: contentHash("head", hashes), tokens };
}

function sized(content: unknown): Sized {
	const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "");
	return { hash: contentHash("head", content), tokens: estimateTokens(text.length) };
}

function nameOf(tool: unknown): string {
	return nameOr(property(tool, "name"), "");
}

function listOr(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function objectOr(value: unknown): object {
	return typeof value === "object" && value !== null ? value : {};
}
