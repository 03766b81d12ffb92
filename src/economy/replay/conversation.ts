import { property } from "../../core/property.ts";
import { sentAgain } from "../../core/sent-again.ts";
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
 * system prompts across walks of the same entries. `thinking` is the level until an entry states one.
 */
export function createConversationWalk(
	entries: readonly Entry[],
	heads = new Map<number, Head | undefined>(),
	thinking = "off",
) {
	let leaf = -1;
	let current = emptyContent(thinking);
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
			current = project(path, thinking);
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
		const { blocks } = current;
		given = blocks.length;
		return { head, blocks, thinking: current.thinking, changes, continues, visited };
	};
}

/** The content of a branch as pi sends it; it grows in place. */
type BranchContent = ReturnType<typeof emptyContent>;

function emptyContent(thinking: string) {
	return { headChanges: [] as SystemChange[], blocks: [] as SourceBlock[], thinking };
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
function project(path: readonly Entry[], thinking: string): BranchContent {
	const content = emptyContent(thinking);
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

interface Head {
	/** `tokens` is `undefined` if the session file does not show the tools. */
	readonly tools: Omit<Sized, "tokens"> & {
		readonly tokens: number | undefined;
		readonly byName: ReadonlyMap<string, Sized>;
	};
	readonly system: Sized & { readonly parts: readonly Sized[] };
}

export type SystemChange = ReturnType<typeof systemChangeOf> & {
	/** The agent stores its system prompt without the tools. */
	readonly hidesTools?: true;
};

export function systemChangeOf(message: unknown) {
	const content = property(message, "content") ?? "";
	const texts = (Array.isArray(content) ? content : [content]).filter((text) => text !== "");
	const sections = Object.entries(objectOr(property(message, "sections")));
	const toolsAdded = listOr(property(message, "toolsAdded"));
	return {
		replace: property(message, "replace") === true,
		texts: texts.map(sized),
		sections: new Map(
			sections.map(([name, text]) => [nameOr(name, ""), text === null ? null : sized(text)]),
		),
		toolsAdded: new Map(toolsAdded.map((tool) => [nameOf(tool), sized(tool)])),
		toolsRemoved: listOr(property(message, "toolsRemoved")).map(nameOf),
	};
}

/** Merges as pi does for models with one system prompt. Returns `undefined` if an older pi stored none. */
function headAfter(changes: readonly SystemChange[]): Head | undefined {
	if (changes.length === 0) return undefined;
	const last = changes.findLastIndex((change) => change.replace);
	const texts: Sized[] = [];
	const sections = new Map<string, Sized>();
	const tools = new Map<string, Sized>();
	for (const change of changes.slice(Math.max(0, last))) {
		for (const text of change.texts) texts.push(text);
		for (const [name, text] of change.sections) {
			if (text === null) sections.delete(name);
			else sections.set(name, text);
		}
		for (const name of change.toolsRemoved) tools.delete(name);
		for (const [name, tool] of change.toolsAdded) tools.set(name, tool);
	}
	const parts = [...texts, ...sections.values()];
	const { hash, tokens } = joined(tools.values());
	const isHidden = tools.size === 0 && changes.some(({ hidesTools }) => hidesTools);
	return {
		tools: { hash, tokens: isHidden ? undefined : tokens, byName: tools },
		system: { ...joined(parts), parts },
	};
}

/** Which share of the tools, and of the system prompt, an earlier request had too, in tokens. */
export function sharesOfHead(before: Head | undefined, now: Head | undefined) {
	const toolsOf = (head: Head | undefined) => [...(head?.tools.byName.values() ?? [])];
	return {
		tools: shareSentAgain(toolsOf(before), toolsOf(now)),
		system: shareSentAgain(before?.system.parts ?? [], now?.system.parts ?? []),
	};
}

function shareSentAgain(before: readonly Sized[], now: readonly Sized[]): number {
	return totalOf(sentAgain(before, now)) / Math.max(1, totalOf(now));
}

/** The first tool that is new, other or gone. */
export function changedTool(before: Head | undefined, now: Head | undefined): string | undefined {
	const [old = new Map(), current = new Map()] = [before?.tools.byName, now?.tools.byName];
	for (const [name, tool] of current) if (old.get(name)?.hash !== tool.hash) return `tool ${name}`;
	for (const name of old.keys()) if (!current.has(name)) return `tool ${name} (removed)`;
	return undefined;
}

function joined(parts: Iterable<Sized>): Sized {
	const all = [...parts];
	const hashes = all.map((part) => part.hash);
	return { hash: contentHash("head", hashes), tokens: totalOf(all) };
}

function totalOf(parts: readonly Sized[]): number {
	return parts.reduce((sum, { tokens }) => sum + tokens, 0);
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
