import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { hashBytes } from "../core/hash.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	activeEntries,
	createObservation,
	entriesSince,
	messageId,
	type Observation,
	type SessionSource,
	textBlocks,
	textOf,
} from "./messages.ts";

/** A tool result on the current branch that compaction has not removed. */
export interface ToolResultItem {
	kind: "toolResult";
	entryId: string;
	toolCallId: string;
	toolName: string;
	/** What the model asked for, in the form in which it asked; `undefined` when the call itself is gone. */
	input: unknown;
	isError: boolean;
	details: unknown;
	/** The text the tool returned, as stored; `undefined` for results with images or without text. */
	returned: string | undefined;
	/** The text that stands for it in the context: `returned`, or what a context edit put there. */
	text: string | undefined;
	/** When it entered the session, in milliseconds since 1970. */
	since: number;
	/** Its place in the log. */
	order: number;
	/** Rough size of `text`. */
	tokens: number;
}

/** An entry that some extension left in the session; the model never sees it. */
export interface CustomItem {
	kind: "custom";
	entryId: string;
	customType: string;
	data: unknown;
}

/** A message that an extension put before the model. */
export interface CustomMessageItem {
	kind: "customMessage";
	entryId: string;
	customType: string;
	/** What it is known by in a request, where results have the id of their call: the id in its details. */
	toolCallId: string;
	/** Its blocks of text as they stand in the context. */
	texts: readonly string[];
	/** The text that stands for it in the context; `undefined` for more than text, and for none. */
	text: string | undefined;
}

export type ContextItem = ToolResultItem | CustomItem | CustomMessageItem;

/**
 * The active context in branch order; a message of an extension that was edited stands where it was edited, since what
 * it says now was said then. Within one `epoch` items are only appended (a context edit changes an item's
 * `text` in place), so a reader who has seen the first n of an epoch goes on from there; a new epoch starts over.
 */
export interface ContextLog {
	epoch: number;
	items: readonly ContextItem[];
	/** The items that requests hold, by entry. */
	sent: ReadonlyMap<string, SentItem>;
}

/** What stands in requests under an id of its own. */
export type SentItem = ToolResultItem | CustomMessageItem;

/** Whether a result's text is before the model's eyes as it was returned, and if not, why not. */
export type Visibility =
	| { visible: true }
	| {
			visible: false;
			why: /** a context edit replaced or removed it */
				| "edited"
				/** it holds no text, or more than text */
				| "not-text"
				/** somebody changed it after the tool returned it */
				| "rewritten"
				/** it was not in the last request */
				| "not-sent"
				/** the last request held another text for it */
				| "altered"
				/** several results share its call id, and they cannot be told apart */
				| "ambiguous"
				/** the last request held the results in another order, so which is the newest is not clear */
				| "reordered";
	  };

export interface LedgerOptions {
	/** The hash of the text a tool returned, where the tool noted it in its details. */
	returnedHash?: (item: ToolResultItem) => string | undefined;
}

/** Answers what the model can see. One per session of pi. */
export interface Ledger {
	/** Takes note of a request on its way to the model; `messages` is not changed and only kept until the next one. */
	observe(source: SessionSource, messages: readonly unknown[]): void;
	/** Goes through the request last observed while nobody waits, so that asking about it later costs next to nothing. */
	prepare(source: SessionSource): void;
	/** The active context. The cost grows with what is new since the last call, not with the session. */
	log(source: SessionSource): ContextLog;
	/**
	 * About an item of the current log. Without an observed request the session alone decides. Of a message, an edit
	 * does not count against it: its texts are those of the edit.
	 */
	visibility(item: SentItem): Visibility;
}

export function createLedger({ returnedHash }: LedgerOptions = {}): Ledger {
	let observation: Observation | undefined;
	let state = emptyState("", 0);

	return {
		observe(source, messages) {
			observation = createObservation(source.getSessionId(), messages);
		},

		prepare(source) {
			state = advance(state, source);
			if (observation?.sessionId === state.sessionId) observation.prepare(state.callIds);
		},

		log(source) {
			state = advance(state, source);
			return state;
		},

		visibility(item) {
			const isResult = item.kind === "toolResult";
			if (isResult && item.text !== item.returned) return { visible: false, why: "edited" };
			if (item.text === undefined) return { visible: false, why: "not-text" };
			if (isResult && !isAsReturned(item, item.text)) return { visible: false, why: "rewritten" };
			if (observation?.sessionId !== state.sessionId) return { visible: true };
			const siblings = state.resultsByCall.get(item.toolCallId) ?? [];
			const sent = observation.textsOf(item.toolCallId);
			if (sent.length === 0) return { visible: false, why: "not-sent" };
			if (sent.length !== siblings.length) return { visible: false, why: "ambiguous" };
			if (sent[siblings.indexOf(item)] !== item.text) return { visible: false, why: "altered" };
			if (!observation.isInOrder(state.callIds)) return { visible: false, why: "reordered" };
			return { visible: true };
		},
	};

	function isAsReturned(item: ToolResultItem, text: string): boolean {
		const known = state.asReturned.get(item);
		if (known !== undefined) return known;
		const expected = returnedHash?.(item);
		const same = expected === undefined || hashBytes(text) === expected;
		state.asReturned.set(item, same);
		return same;
	}
}

interface State extends ContextLog {
	sessionId: string;
	leafId: string | null;
	items: ContextItem[];
	/** Arguments by call id, of calls whose results are still to come or in the log. */
	inputs: Map<string, unknown>;
	/** Call ids of the results, in the order of the log. */
	callIds: string[];
	sent: Map<string, SentItem>;
	resultsByCall: Map<string, SentItem[]>;
	/** Memo of the hash check; items are immutable but for their edits, which are checked before. */
	asReturned: WeakMap<ToolResultItem, boolean>;
}

function emptyState(sessionId: string, epoch: number): State {
	return {
		epoch,
		sessionId,
		leafId: null,
		items: [],
		inputs: new Map(),
		callIds: [],
		sent: new Map(),
		resultsByCall: new Map(),
		asReturned: new WeakMap(),
	};
}

/** Brings the state to the source's leaf: entry by entry where the branch only grew, else from the projection. */
function advance(state: State, source: SessionSource): State {
	const sessionId = source.getSessionId();
	const leafId = source.getLeafId();
	if (state.sessionId === sessionId && state.leafId === leafId && leafId !== null) return state;
	const grown = state.sessionId === sessionId && state.leafId !== null;
	const fresh = grown ? entriesSince(source, state.leafId as string) : undefined;
	if (!fresh?.every((entry) => append(state, entry, contentOf(entry))))
		return rebuild(state, source);
	state.leafId = leafId;
	return state;
}

function rebuild(old: State, source: SessionSource): State {
	const state = emptyState(source.getSessionId(), old.epoch + 1);
	const entries = activeEntries(source);
	const lastEdits = new Map<string, string>();
	for (const { sourceEntry } of entries) {
		if (sourceEntry.type === "context_edit") lastEdits.set(sourceEntry.targetId, sourceEntry.id);
	}
	const edited = new Map<string, CustomMessageItem>();
	for (const { sourceEntry, messages } of entries) {
		if (sourceEntry.type === "compaction") continue; // applied already
		const edit = lastEdits.get(sourceEntry.id);
		const [message] = messages as { content?: unknown }[];
		const content = edit === undefined ? contentOf(sourceEntry) : message?.content;
		if (sourceEntry.type === "context_edit") {
			const item = edited.get(sourceEntry.id);
			if (item) state.items.push(item);
		} else if (sourceEntry.type === "custom_message" && edit !== undefined) {
			edited.set(edit, addSent(state, messageItem(sourceEntry, content)));
		} else append(state, sourceEntry, content);
	}
	state.leafId = source.getLeafId();
	return state;
}

/**
 * Adds what one entry brings. `content` is the entry's content as it stands in the context, edits included.
 * Returns false when adding cannot express the entry's effect and the log must be rebuilt.
 */
function append(state: State, entry: SessionEntry, content: unknown): boolean {
	switch (entry.type) {
		case "compaction":
			return false;
		case "context_edit":
			return applyEdit(state, entry.targetId, entry.replacement?.content);
		case "custom":
			state.items.push({
				kind: "custom",
				entryId: entry.id,
				customType: entry.customType,
				data: entry.data,
			});
			return true;
		case "custom_message":
			state.items.push(addSent(state, messageItem(entry, content)));
			return true;
		case "message":
			if (entry.message.role === "assistant") noteCalls(state, content);
			if (entry.message.role === "toolResult") addResult(state, entry, content);
			return true;
		default:
			return true; // nothing the ledger speaks of
	}
}

function contentOf(entry: SessionEntry): unknown {
	if (entry.type === "custom_message") return entry.content;
	return entry.type === "message" ? (entry.message as { content?: unknown }).content : undefined;
}

function noteCalls(state: State, content: unknown): void {
	if (!Array.isArray(content)) return;
	const named = new Set<string>();
	for (const block of content as { type?: unknown; id?: unknown; arguments?: unknown }[]) {
		if (block?.type === "toolCall" && typeof block.id === "string") {
			// Two calls of one message under one id: nobody can tell whose result is whose.
			state.inputs.set(block.id, named.has(block.id) ? undefined : block.arguments);
			named.add(block.id);
		}
	}
}

function addResult(
	state: State,
	entry: SessionEntry & { type: "message" },
	content: unknown,
): void {
	const { message } = entry;
	if (message.role !== "toolResult") return;
	const returned = textOf(message.content);
	const text = textOf(content);
	const item: ToolResultItem = {
		kind: "toolResult",
		entryId: entry.id,
		toolCallId: message.toolCallId,
		toolName: message.toolName,
		input: state.inputs.get(message.toolCallId),
		isError: message.isError === true,
		details: message.details,
		returned,
		text,
		since: Date.parse(entry.timestamp) || message.timestamp,
		order: state.items.length,
		tokens: estimateTokens(text?.length ?? 0),
	};
	state.items.push(addSent(state, item));
}

function messageItem(
	entry: SessionEntry & { type: "custom_message" },
	content: unknown,
): CustomMessageItem {
	return {
		kind: "customMessage",
		entryId: entry.id,
		customType: entry.customType,
		// Without an id it cannot be found in a request, and is never visible.
		toolCallId: messageId(entry.details) ?? `entry:${entry.id}`,
		texts: textBlocks(content),
		text: textOf(content),
	};
}

/** Takes note of where in a request an item is to be found. */
function addSent<Item extends SentItem>(state: State, item: Item): Item {
	state.sent.set(item.entryId, item);
	state.callIds.push(item.toolCallId);
	const siblings = state.resultsByCall.get(item.toolCallId);
	if (siblings) siblings.push(item);
	else state.resultsByCall.set(item.toolCallId, [item]);
	return item;
}

/** The newest edit of an entry wins. False for an edit of anything but a result that is held: it rebuilds the log. */
function applyEdit(state: State, targetId: string, content: unknown): boolean {
	const item = state.sent.get(targetId);
	if (item?.kind !== "toolResult") return false;
	item.text = textOf(content);
	item.tokens = estimateTokens(item.text?.length ?? 0);
	return true;
}
