import type { ContextMessage, ToolResultItem } from "../session/index.ts";
import { MAX_STUB_BYTES } from "./stub.ts";

export interface CandidateSettings {
	/** Number of latest turns whose tool output stays. */
	readonly keepRecentTurns: number;
	/** Longer output of any tool is pruned. Tools that only fetch are pruned whenever a stub pays. */
	readonly maxToolChars: number;
	/** Whether the output of every tool is pruned, not only of tools that fetch. */
	readonly anyTool: boolean;
}

/** Facts that the policy cannot see by itself. */
export interface ResultFacts {
	isPinned(item: ToolResultItem): boolean;
	/** Whether the result must not be pruned or stored. */
	isExcluded(item: ToolResultItem): boolean;
	/** Whether the text was shown again later, or is out of date. */
	isSuperseded(item: ToolResultItem): boolean;
	/** The results that a marker or diff refers to. */
	basesOf(item: ToolResultItem): readonly ToolResultItem[];
}

export interface Conversation {
	readonly messages: readonly ContextMessage[];
	readonly results: ReadonlyMap<string, ToolResultItem>;
	readonly facts: ResultFacts;
	/** Messages before this index must not change, since thinking is bound to them. */
	readonly editableFrom: number;
}

export interface Candidate {
	readonly item: ToolResultItem;
	readonly at: number;
	readonly why: "superseded" | "old";
}

/** The newest tool tokens up to this many are recent. Calls count too, since arguments can hold files. */
export const PROTECTED_TOOL_TOKENS = 20_000;

/** Shorter output stays, since a stub frees too little to pay for rewriting the text after it. */
export const LEAST_CHARS = 2 * MAX_STUB_BYTES;

/**
 * Returns the oldest first. Never selects output of the last turns (within {@link PROTECTED_TOOL_TOKENS}),
 * unanswered output, errors, images, pins, excluded files, and the bases of recent or pinned results.
 */
export function candidatesOf(
	{ messages, results, facts }: Omit<Conversation, "editableFrom">,
	settings: CandidateSettings,
): Candidate[] {
	const recent = recentResults(messages, results, settings.keepRecentTurns);
	const kept = new Set(recent);
	for (const item of recent) for (const base of facts.basesOf(item)) kept.add(base);
	for (const item of results.values()) {
		if (facts.isPinned(item)) for (const needed of [item, ...facts.basesOf(item)]) kept.add(needed);
	}

	return messages.flatMap(({ entryId }, at): Candidate[] => {
		const item = results.get(entryId);
		if (!item || kept.has(item) || !isPrunable(item) || facts.isExcluded(item)) return [];
		if (facts.isSuperseded(item)) return [{ item, at, why: "superseded" }];
		return isPrunedByAge(item, settings) ? [{ item, at, why: "old" }] : [];
	});
}

/** The first result that may be replaced; `undefined` from when thinking is bound until a compaction. */
export function frontierOf(conversation: Conversation): ToolResultItem | undefined {
	const { messages, results, facts, editableFrom } = conversation;
	if (editableFrom > 0) return undefined;
	return messages
		.map(({ entryId }) => results.get(entryId))
		.find((item) => item && isPrunable(item) && !facts.isPinned(item) && !facts.isExcluded(item));
}

export function isPrunable({ isError, text, returned }: ToolResultItem): boolean {
	if (isError || text === undefined || text !== returned) return false;
	return text.length > LEAST_CHARS && text.isWellFormed();
}

/** Whether a result is pruned once it is no longer recent. */
export function isPrunedByAge(item: ToolResultItem, settings: CandidateSettings): boolean {
	const isLong = (item.text?.length ?? 0) > settings.maxToolChars;
	return isLong || settings.anyTool || fetchesOnly(item);
}

/** Whether the call only fetches, so that its output is assumed to be available again. */
function fetchesOnly({ toolName, input }: ToolResultItem): boolean {
	if (toolName === "read" || toolName === "bash") return true;
	return toolName === "kota_search" && (input as { output?: unknown })?.output === "snippet";
}

function recentResults(
	messages: Conversation["messages"],
	results: Conversation["results"],
	keepRecentTurns: number,
): ToolResultItem[] {
	const recent: ToolResultItem[] = [];
	const lastTurn = messages.at(-1)?.turn ?? 0;
	let isAnswered = false;
	let tokens = 0;
	for (const message of messages.toReversed()) {
		if (message.role === "assistant") isAnswered = true;
		tokens += message.toolTokens;
		const item = results.get(message.entryId);
		if (!item) continue;
		const isNear = message.turn > lastTurn - keepRecentTurns && tokens <= PROTECTED_TOOL_TOKENS;
		if (!isAnswered || isNear) recent.push(item);
	}
	return recent;
}
