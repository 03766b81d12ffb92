import type { Data } from "../../protocol/index.ts";
import {
	type AssistantItem,
	type Block,
	type Item,
	type ItemOf,
	type ToolCall,
	updateCall,
	withStreamStep,
} from "./items.ts";
import {
	addItem,
	assistantItem,
	attachResult,
	bashOutcome,
	branchOf,
	contentOf,
	entryItem,
	field,
	isBilled,
	itemOf,
	itemsOf,
	keyOf,
	replaceResult,
	requestNumbers,
	withResult,
} from "./message-items.ts";

/** A conversation as it is shown. Immutable: `applyEvent` returns a new one. */
export interface Conversation {
	readonly items: readonly Item[];
	readonly isRunning: boolean;
	readonly retryText: string | undefined;
	readonly isCompacting: boolean;
	readonly queue: { readonly steering: readonly string[]; readonly followUp: readonly string[] };
	/** Key of the streaming answer's item, or `known` while events repeat a complete answer. */
	readonly streamingKey: string | "known" | undefined;
	/** Billed requests so far, in all branches. */
	readonly requests: number;
}

export const EMPTY: Conversation = {
	items: [],
	isRunning: false,
	retryText: undefined,
	isCompacting: false,
	queue: { steering: [], followUp: [] },
	streamingKey: undefined,
	requests: 0,
};

export function conversationOf(
	{ entries, leafId }: { entries: readonly Data<"SessionEntry">[]; leafId: string | null },
	{ isStreaming, isCompacting }: { isStreaming: boolean; isCompacting: boolean },
): Conversation {
	const numbers = requestNumbers(entries);
	const items = itemsOf(branchOf(entries, leafId), numbers);
	const known: Conversation = {
		...EMPTY,
		items,
		isRunning: isStreaming,
		isCompacting,
		requests: numbers.size,
	};
	if (isStreaming) return known;
	const still = withUnfinishedLost(known);
	// The session file does not record that the server stopped. A call without a result shows that it did.
	return endsWithoutResult(still.items)
		? { ...still, items: withCutOff(still.items, "This run was cut off before it finished.") }
		: still;
}

/** The reducer of session events. Idempotent, because loaded entries and later events may overlap. */
export function applyEvent(before: Conversation, event: Data<"SessionEvent">): Conversation {
	switch (event.type) {
		case "agent_start":
			return { ...before, isRunning: true, retryText: undefined };
		case "agent_end":
			return event.willRetry ? before : withUnfinishedLost({ ...before, isRunning: false });
		case "agent_settled":
			return withUnfinishedLost({
				...before,
				isRunning: false,
				retryText: undefined,
				...(event.interrupted && {
					isCompacting: false,
					queue: EMPTY.queue,
					items: withCutOff(before.items, "The server stopped while this was running."),
				}),
			});
		case "message_start":
			return event.message.role === "assistant" ? answerStarted(before, event.message) : before;
		case "message_update":
			return answerUpdated(before, event.assistantMessageEvent);
		case "message_end":
			return messageEnded(before, event.message, "truncated" in event);
		case "tool_execution_start":
			return withCall(before, event.toolCallId, (call) => ({
				...call,
				state: "running",
				args: event.args ?? call.args,
				...(event.atMs !== undefined && { startedMs: event.atMs }),
			}));
		case "tool_execution_update":
			return withCall(before, event.toolCallId, (call) => ({
				...call,
				state: "running",
				output: contentOf(field(event.partialResult, "content")).text,
			}));
		case "tool_execution_end":
			return withCall(before, event.toolCallId, (call) => {
				const { isError, result, atMs } = event;
				const durationMs =
					atMs !== undefined && call.startedMs !== undefined ? atMs - call.startedMs : undefined;
				const [content, details] = [field(result, "content"), field(result, "details")];
				return withResult(call, { content, details, isError, durationMs });
			});
		case "bash_execution_update":
			return withBash(before, event.id ?? "", event.delta);
		case "queue_update":
			return { ...before, queue: { steering: event.steering, followUp: event.followUp } };
		case "entry_appended": {
			const item = event.entry.message ? undefined : entryItem(event.entry);
			if (event.entry.type === "context_edit") {
				const items = [...before.items];
				replaceResult(items, event.entry);
				return item ? added({ ...before, items }, item) : { ...before, items };
			}
			return item ? added(before, item) : before;
		}
		case "compaction_start":
			return { ...before, isCompacting: true };
		case "compaction_end":
			return compactionEnded(before, event);
		case "auto_retry_start": {
			const { attempt, maxAttempts, delayMs, errorMessage } = event;
			const wait = `attempt ${attempt} of ${maxAttempts} in ${Math.round(delayMs / 1000)} s`;
			return { ...before, isRunning: true, retryText: `${errorMessage} (${wait})` };
		}
		case "auto_retry_end":
			return { ...before, retryText: undefined };
		case "extension_error": {
			const text = `Extension ${event.extensionPath ?? "(unknown)"} failed: ${event.error}`;
			return added(before, { kind: "error", key: `error:${text}`, text });
		}
		default:
			return before;
	}
}

/** Adds a shell command that this page has started. Its output may have arrived earlier. */
export function bashStarted(before: Conversation, id: string, command: string): Conversation {
	const key = SHELL_PREFIX + id;
	const at = indexOf(before.items, key);
	const known = before.items[at];
	if (known?.kind === "bash") {
		return known.command === undefined ? replaced(before, at, { ...known, command }) : before;
	}
	return added(before, { kind: "bash", key, command, output: "", state: "running" });
}

/** Marks a shell command as ended. While the model is running, the session file does not contain it yet. */
export function bashEnded(before: Conversation, id: string, result: Data<"BashResult">) {
	const at = indexOf(before.items, SHELL_PREFIX + id);
	const known = before.items[at];
	if (known?.kind !== "bash" || known.state !== "running") return before;
	return replaced(before, at, { ...known, ...bashOutcome(result) });
}

/** Drops ended shell commands that are not in the session file: they belong to the replaced session. */
export function withoutEndedShell(before: Conversation): Conversation {
	return { ...before, items: before.items.filter((item) => !isEndedShell(item)) };
}

function isEndedShell(item: Item): boolean {
	return isShell(item) && item.entryId === undefined && item.state !== "running";
}

function isShell(item: Item): item is ItemOf<"bash"> {
	return item.kind === "bash" && item.key.startsWith(SHELL_PREFIX);
}

/**
 * Carries over what a reloaded session file lacks: notices, ended shell commands, and the keys of shell
 * commands, so that unfolded rows stay open.
 */
export function carryOver(next: Conversation, before: Conversation): Conversation {
	const known = new Set(before.items.map(({ key }) => key));
	const running = before.items.filter(isShell);
	const items = next.items.map((item) => {
		if (item.kind !== "bash" || known.has(item.key)) return item;
		const at = running.findIndex(({ entryId, command }) =>
			entryId === undefined
				? command === undefined || command === item.command
				: entryId === item.entryId,
		);
		const [same] = at === -1 ? [] : running.splice(at, 1);
		return same ? { ...item, key: same.key } : item;
	});
	const ended = running.filter(isEndedShell);
	return { ...next, items: [...withNoticesOf(items, before.items), ...ended] };
}

/** The key prefix of shell commands that were shown before the session file had them. */
const SHELL_PREFIX = "bash:";

function indexOf(items: readonly Item[], key: string): number {
	return items.findLastIndex(
		(item) => item.key === key || (item.kind === "note" && item.mergedKeys.includes(key)),
	);
}

function added(before: Conversation, item: Item): Conversation {
	if (indexOf(before.items, item.key) !== -1) return before;
	const items = [...before.items];
	addItem(items, item);
	return { ...before, items };
}

function replaced(before: Conversation, at: number, item: Item): Conversation {
	return { ...before, items: before.items.with(at, item) };
}

function answerStarted(before: Conversation, message: Data<"AgentMessage">): Conversation {
	const key = keyOf(message);
	const known = before.items[indexOf(before.items, key)];
	if (known) {
		const isWhole = known.kind !== "assistant" || !known.isStreaming;
		return { ...before, streamingKey: isWhole ? "known" : key };
	}
	const item: AssistantItem = { ...assistantItem(message), isStreaming: true };
	// The new answer repeats what the item with `LATE_KEY` shows, so that item is removed.
	const late = withoutLate(before);
	return {
		...added({ ...late, items: withoutLastNotice(late.items) }, item),
		isRunning: true,
		retryText: undefined,
		streamingKey: key,
	};
}

function answerUpdated(before: Conversation, step: Data<"AssistantMessageEvent">): Conversation {
	if (before.streamingKey === "known") return before;
	if (before.streamingKey === undefined) {
		// This page subscribed in the middle of an answer. It shows the rest now and the whole answer at the end.
		const late = { role: "assistant", content: [] };
		const item = { ...assistantItem(late), key: LATE_KEY, isStreaming: true, isPartial: true };
		return answerUpdated({ ...added(before, item), streamingKey: LATE_KEY }, step);
	}
	const at = indexOf(before.items, before.streamingKey);
	const item = before.items[at];
	if (item?.kind !== "assistant") return before;
	const blocks = withStreamStep(item.blocks, step);
	return blocks === item.blocks ? before : replaced(before, at, { ...item, blocks });
}

const LATE_KEY = "assistant:late";

function messageEnded(before: Conversation, message: Data<"AgentMessage">, isCut: boolean) {
	if (message.role === "toolResult") {
		const items = [...before.items];
		if (attachResult(items, message)) return { ...before, items };
	}
	const request = before.requests + 1;
	const item = itemOf(message, request);
	if (!item) return before;
	const whole: Item = isCut ? { ...item, isCut } : item;
	if (whole.kind !== "assistant") return added(before, whole);
	const next = { ...withoutLate(before), streamingKey: undefined };
	const at = indexOf(next.items, whole.key);
	const written = next.items[at];
	if (written && !(written.kind === "assistant" && written.isStreaming)) return next;
	const counted = { ...next, ...(isBilled(message) && { requests: request }) };
	if (!written) return added(counted, whole);
	return replaced(counted, at, { ...whole, blocks: withKnownCalls(whole, written) });
}

function withoutLate(before: Conversation): Conversation {
	return { ...before, items: before.items.filter(({ key }) => key !== LATE_KEY) };
}

/** Keeps the states of calls, because a tool may start before the answer with its call has ended. */
function withKnownCalls(whole: AssistantItem, written: AssistantItem): AssistantItem["blocks"] {
	const calls = new Map<string, ToolCall>();
	for (const block of written.blocks)
		if (block.kind === "call") calls.set(block.call.id, block.call);
	return whole.blocks.map((block) => {
		const known = block.kind === "call" ? calls.get(block.call.id) : undefined;
		if (block.kind !== "call" || !known || known.state === "writing") return block;
		return { kind: "call", call: { ...known, args: block.call.args, argsText: "" } };
	});
}

function withCall(before: Conversation, callId: string, change: (call: ToolCall) => ToolCall) {
	const items = [...before.items];
	const isOver = ({ state }: ToolCall) => state === "done" || state === "failed";
	updateCall(items, callId, (call) => (isOver(call) ? call : change(call)));
	return { ...before, items };
}

const MAX_SHELL_OUTPUT = 200_000;

function withBash(before: Conversation, id: string, delta: string): Conversation {
	const key = SHELL_PREFIX + id;
	const at = indexOf(before.items, key);
	const known = before.items[at];
	if (known?.kind !== "bash") {
		return added(before, { kind: "bash", key, output: delta, state: "running" });
	}
	const output = (known.output + delta).slice(-MAX_SHELL_OUTPUT);
	return replaced(before, at, { ...known, output });
}

function compactionEnded(
	before: Conversation,
	event: Extract<Data<"SessionEvent">, { type: "compaction_end" }>,
): Conversation {
	const { result, errorMessage, aborted } = event;
	const next = { ...before, isCompacting: false };
	if (result) {
		const { summary, tokensBefore, firstKeptEntryId } = result;
		const key = `compaction:${firstKeptEntryId}:${tokensBefore}`;
		return added(next, { kind: "summary", key, origin: "compaction", text: summary, tokensBefore });
	}
	if (aborted || !errorMessage) return next;
	// Some of pi's messages begin with these words.
	const text = `Compaction failed: ${errorMessage.replace(/^Compaction failed: /, "")}`;
	return added(next, { kind: "error", key: `error:${text}`, text });
}

/** Marks unfinished calls as lost. Called when nothing is running: no results will arrive for them. */
function withUnfinishedLost(before: Conversation): Conversation {
	const items = before.items.map((item): Item => {
		if (item.kind !== "assistant") return item;
		// The same object, so that the item keeps its memoized rows.
		if (!item.isStreaming && !item.blocks.some(isUnfinished)) return item;
		const blocks = item.blocks.map(
			(block): Block =>
				isUnfinished(block) ? { ...block, call: { ...block.call, state: "lost" } } : block,
		);
		return { ...item, isStreaming: false, blocks };
	});
	return { ...before, streamingKey: undefined, items };
}

function isUnfinished(block: Block): block is Extract<Block, { kind: "call" }> {
	return block.kind === "call" && ["writing", "waiting", "running"].includes(block.call.state);
}

function withCutOff(items: readonly Item[], text: string): readonly Item[] {
	const anchor = items.findLast((item) => !isTransient(item) && !isNotice(item));
	if (!anchor) return items;
	const key = NOTICE_PREFIX + anchor.key;
	if (items.some((item) => item.key === key)) return items;
	return [...items, { kind: "error", key, text }];
}

function endsWithoutResult(items: readonly Item[]): boolean {
	const last = items.findLast(({ kind }) => kind === "user" || kind === "assistant");
	if (last?.kind !== "assistant" || last.error !== undefined || last.isAborted) return false;
	return last.blocks.some((block) => block.kind === "call" && block.call.state === "lost");
}

function withoutLastNotice(items: readonly Item[]): readonly Item[] {
	const last = items.at(-1);
	return last && isNotice(last) ? items.slice(0, -1) : items;
}

/** Restores notices after a reload, because the session file does not contain them. */
function withNoticesOf(next: readonly Item[], before: readonly Item[]): readonly Item[] {
	const notices = before.filter(isNotice);
	return next.flatMap((item) => {
		if (notices.some(({ key }) => key === item.key)) return [];
		const notice = notices.find(({ key }) => key === NOTICE_PREFIX + item.key);
		return notice ? [item, notice] : [item];
	});
}

/** The key prefix of notices. It is followed by the key of the item above the notice. */
const NOTICE_PREFIX = "cut-off:";

function isNotice(item: Item): boolean {
	return item.kind === "error" && item.key.startsWith(NOTICE_PREFIX);
}

/** Whether, after a cut-off, the session file may lack this item or have it under another key. */
function isTransient(item: Item): boolean {
	return (item.kind === "assistant" && item.isStreaming) || item.kind === "bash";
}
