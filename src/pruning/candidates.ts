import {
	type ContextMessage,
	type ResultReference,
	shortenedOf,
	type ToolResultItem,
} from "../session/index.ts";
import { LEAST_CHARS, MAX_STUB_TOKENS } from "./stub.ts";

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

/**
 * Returns the oldest first. Never selects output of the last turns (within {@link PROTECTED_TOOL_TOKENS}),
 * unanswered output, errors, images, pins, excluded files, the bases of recent or pinned results, and
 * results that a shown reference means, unless the result with the reference is selected too.
 */
export function candidatesOf(
	conversation: Omit<Conversation, "editableFrom">,
	settings: CandidateSettings,
): Candidate[] {
	const { candidates } = editableCandidates({ ...conversation, editableFrom: 0 }, settings);
	return candidates;
}

/** Like {@link candidatesOf}, of what may change. `bound`: how many more there were if no thinking were bound to them. */
export function editableCandidates(conversation: Conversation, settings: CandidateSettings) {
	const { editableFrom } = conversation;
	const found = prunableIn(conversation, settings);
	const results = [...conversation.results.values()];
	const isBound = ({ at }: Candidate) => at < editableFrom;
	// A result that refers to a bound one frees nothing without it.
	const editable = found.filter((one) => !isBound(one));
	const candidates = worthwhile(editable, results);
	if (editable.length === found.length) return { candidates, bound: 0 };
	return { candidates, bound: worthwhile(found, results).filter(isBound).length };
}

function prunableIn(
	{ messages, results, facts }: Conversation,
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
		if (!item || kept.has(item) || facts.isExcluded(item)) return [];
		if (!isPrunable(item) && !isBriefReferrer(item)) return [];
		if (facts.isSuperseded(item)) return [{ item, at, why: "superseded" }];
		return isPrunedByAge(item, settings) ? [{ item, at, why: "old" }] : [];
	});
}

/** The first result that may be replaced. A marker before it keeps the cached prefix readable. */
export function frontierOf(conversation: Conversation): ToolResultItem | undefined {
	const { messages, results, facts, editableFrom } = conversation;
	return messages
		.slice(editableFrom)
		.map(({ entryId }) => results.get(entryId))
		.find((item) => item && isPrunable(item) && !facts.isPinned(item) && !facts.isExcluded(item));
}

export function isPrunable(item: ToolResultItem): boolean {
	return isWhole(item) && (item.text?.length ?? 0) > LEAST_CHARS;
}

/** A result that a stub does not make shorter, but that keeps others because it refers to them. */
function isBriefReferrer(item: ToolResultItem): boolean {
	return isWhole(item) && !isPrunable(item) && referencesIn(item).length > 0;
}

function isWhole({ isError, text, returned }: ToolResultItem): boolean {
	return !isError && text !== undefined && text === returned && text.isWellFormed();
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

/** The references of a result to earlier ones that the model still sees. */
function referencesIn(item: ToolResultItem): readonly ResultReference[] {
	return item.text === item.returned ? (shortenedOf(item)?.references ?? []) : [];
}

interface Chosen {
	readonly item: ToolResultItem;
}

/**
 * Leaves out results that a reference means, unless every result that refers to them is chosen too.
 * `results` are those in the context, oldest first.
 */
export function withReferrers<One extends Chosen>(
	chosen: readonly One[],
	results: readonly ToolResultItem[],
): One[] {
	const going = new Set(chosen.map(({ item }) => item));
	const needed = new Set<string>();
	for (const item of results.toReversed()) {
		if (going.has(item) && !needed.has(item.toolCallId)) continue;
		going.delete(item);
		for (const { base } of referencesIn(item)) needed.add(base);
	}
	return chosen.filter(({ item }) => going.has(item));
}

/**
 * Like {@link withReferrers}. Of results that are too short for a stub, takes those that refer to a larger
 * result, if that frees more than their stubs add.
 */
export function worthwhile<One extends Chosen>(
	chosen: readonly One[],
	results: readonly ToolResultItem[],
): One[] {
	const stubTokens = new Map<string, number>();
	for (const { item } of chosen) {
		if (!isBrief(item)) continue;
		for (const { base } of referencesIn(item))
			stubTokens.set(base, (stubTokens.get(base) ?? 0) + MAX_STUB_TOKENS);
	}
	const freeing = chosen.filter(({ item: { toolCallId, tokens } }) => {
		const added = stubTokens.get(toolCallId) ?? 0;
		return added === 0 || tokens - MAX_STUB_TOKENS > added;
	});
	const going = withReferrers(freeing, results);
	const calls = new Set(going.map(({ item }) => item.toolCallId));
	return going.filter(
		({ item }) => !isBrief(item) || referencesIn(item).some(({ base }) => calls.has(base)),
	);
}

function isBrief({ text }: ToolResultItem): boolean {
	return text !== undefined && text.length <= LEAST_CHARS;
}
