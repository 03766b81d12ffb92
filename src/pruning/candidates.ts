import type { ContextMessage, ToolResultItem } from "../session/index.ts";
import { MAX_STUB_BYTES } from "./stub.ts";

/** The settings that choose what may go. */
export interface CandidateSettings {
	/** Tool output of this many latest turns stays. */
	readonly keepRecentTurns: number;
	/** Output of any tool goes above this length; of the tools that only fetch, wherever a stub is worth it. */
	readonly maxToolChars: number;
	/** Output of every tool may go, not only of those that fetch. */
	readonly anyTool: boolean;
}

/** What the policy cannot see by itself. Each answers for one result. */
export interface ResultFacts {
	isPinned(item: ToolResultItem): boolean;
	/** It comes from a file that must be neither pruned nor stored. */
	isExcluded(item: ToolResultItem): boolean;
	/** What it showed has been shown again since, or is no longer so. */
	isSuperseded(item: ToolResultItem): boolean;
	/** Results without which it means nothing: the text that a marker or diff refers to. */
	basesOf(item: ToolResultItem): readonly ToolResultItem[];
}

/** A result that may be replaced by a stub. */
export interface Candidate {
	readonly item: ToolResultItem;
	/** Its place among the messages. */
	readonly at: number;
	readonly why: "superseded" | "old";
}

/**
 * How much of the newest that tools take in the context is recent, however long the turn. Calls count like results: a
 * file that the model writes stands in a call's arguments, and fills the window like one that it reads.
 */
export const PROTECTED_TOOL_TOKENS = 20_000;

/** Shorter output stays: a stub would free next to nothing, and everything behind it would be written anew. */
export const LEAST_CHARS = 2 * MAX_STUB_BYTES;

/**
 * Chooses what may be pruned, oldest first. Recent output stays: that of the last turns as far as it lies within the
 * newest {@link PROTECTED_TOOL_TOKENS}, and whatever the model has not answered yet. So do errors, pictures, pins,
 * results of excluded files, and what a recent or pinned result refers to.
 */
export function candidatesOf(
	messages: readonly ContextMessage[],
	results: ReadonlyMap<string, ToolResultItem>,
	settings: CandidateSettings,
	facts: ResultFacts,
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
		return goesByAge(item, settings) ? [{ item, at, why: "old" }] : [];
	});
}

/**
 * The first result that a pruning may replace, now or later: all before it stays as it is, so a cache may end there.
 * None while thinking is bound to the conversation: the next pruning then follows a compaction, which ends every cache.
 */
export function frontierOf({
	messages,
	results,
	facts,
	editableFrom,
}: {
	messages: readonly ContextMessage[];
	results: ReadonlyMap<string, ToolResultItem>;
	facts: Pick<ResultFacts, "isPinned" | "isExcluded">;
	editableFrom: number;
}): ToolResultItem | undefined {
	if (editableFrom > 0) return undefined;
	return messages
		.map(({ entryId }) => results.get(entryId))
		.find((item) => item && isPrunable(item) && !facts.isPinned(item) && !facts.isExcluded(item));
}

/** Not an error, not a picture, not replaced already, long enough, and a text that a file can hold. */
export function isPrunable({ isError, text, returned }: ToolResultItem): boolean {
	if (isError || text === undefined || text !== returned) return false;
	return text.length > LEAST_CHARS && text.isWellFormed();
}

/** Whether a result goes once it is no longer recent. */
export function goesByAge(
	item: ToolResultItem,
	{ maxToolChars, anyTool }: CandidateSettings,
): boolean {
	if ((item.text?.length ?? 0) > maxToolChars) return true;
	return anyTool || fetchesOnly(item);
}

/** Tools whose output can be had again by the same call. */
function fetchesOnly({ toolName, input }: ToolResultItem): boolean {
	if (toolName === "read" || toolName === "bash") return true;
	return toolName === "kota_search" && (input as { output?: unknown })?.output === "snippet";
}

function recentResults(
	messages: readonly ContextMessage[],
	results: ReadonlyMap<string, ToolResultItem>,
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
