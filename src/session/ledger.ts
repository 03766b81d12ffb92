import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { CLEARING_ENTRY, PIN_ENTRY } from "../core/entry-types.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { hashBytes } from "../core/hash.ts";
import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	activeEntries,
	createObservation,
	entriesSince,
	messageId,
	type SessionSource,
	textBlocks,
	textOf,
} from "./messages.ts";
import { expandReferences, restoredResult, shortenedOf } from "./shortened.ts";

/** A tool result on the current branch that compaction has not removed. */
export interface ToolResultItem {
	readonly kind: "toolResult";
	readonly entryId: string;
	readonly toolCallId: string;
	readonly toolName: string;
	/** The arguments as the model wrote them; `undefined` if the call is no longer in the context. */
	readonly input: unknown;
	readonly isError: boolean;
	readonly details: unknown;
	/**
	 * The text as the session stores it; `undefined` for results with images or without text. If an edit
	 * shows the lines of a shortened result's references, the text with these lines, and `details` to match.
	 */
	readonly returned: string | undefined;
	/** The text in the context: `returned`, or the text of a context edit. */
	text: string | undefined;
	/** When the result entered the session, in ms since 1970. */
	readonly since: number;
	readonly order: number;
	tokens: number;
}

export interface CustomItem {
	readonly kind: "custom";
	readonly entryId: string;
	readonly customType: string;
	readonly data: unknown;
}

export interface CustomMessageItem {
	readonly kind: "customMessage";
	readonly entryId: string;
	readonly customType: string;
	/** Made from the id in the message's details. Identifies the message in a request. */
	readonly toolCallId: string;
	readonly texts: readonly string[];
	/** The text in the context; `undefined` if the message has no text, or other content too. */
	readonly text: string | undefined;
}

export type ContextItem = ToolResultItem | CustomItem | CustomMessageItem;

/**
 * The active context in branch order, except that an edited extension message is where its edit is.
 * Within one `epoch`, items are only appended (a context edit changes `text` in place), so a reader can
 * resume at its last index. In a new epoch, a reader must start over.
 */
export interface ContextLog {
	readonly epoch: number;
	readonly items: readonly ContextItem[];
	readonly sent: ReadonlyMap<string, SentItem>;
	/** Entries of shortened results that show the lines of their references, by an edit. */
	readonly restored: ReadonlySet<string>;
}

/** An item with an id that identifies it in requests. */
type SentItem = ToolResultItem | CustomMessageItem;

/** Whether the model sees a result's text as it was returned, or why not. */
type Visibility =
	| { visible: true }
	| {
			visible: false;
			why: /** a context edit replaced or removed it, or the provider clears it */
				| "edited"
				/** no text, or more than text */
				| "not-text"
				/** changed after the tool returned it */
				| "rewritten"
				/** not in the last request */
				| "not-sent"
				/** the last request held another text for the result */
				| "altered"
				/** several results share its call id */
				| "ambiguous"
				/** the last request changed the order of results, so the newest is unknown */
				| "reordered"
				/** lines that it refers to are not visible */
				| "base-lost";
	  };

interface LedgerOptions {
	readonly returnedHash?: (item: ToolResultItem) => string | undefined;
}

/** Records what the model sees. One per session. */
export class Ledger {
	readonly #returnedHash: LedgerOptions["returnedHash"];
	#observation: ReturnType<typeof createObservation> | undefined;
	#state = emptyState("", 0);

	constructor({ returnedHash }: LedgerOptions = {}) {
		this.#returnedHash = returnedHash;
	}

	/** Records a request in flight. Keeps `messages` until the next request, so they must not be changed. */
	observe(source: SessionSource, messages: readonly unknown[]): void {
		this.#observation = createObservation(source.getSessionId(), messages);
	}

	/** Indexes the observed request ahead of time, so that later queries are cheap. */
	prepare(source: SessionSource): void {
		this.log(source);
		const { sessionId, callIds } = this.#state;
		if (this.#observation?.sessionId === sessionId) this.#observation.isInOrder(callIds);
	}

	/** Returns the active context. The cost depends only on the number of new entries. */
	log(source: SessionSource): ContextLog {
		this.#state = advance(this.#state, source);
		return this.#state;
	}

	/**
	 * If no request was observed, only the session decides. Edited extension messages can be visible. A
	 * shortened result is visible only with all the lines that it refers to.
	 */
	visibility(item: SentItem): Visibility {
		const seen = this.ownVisibility(item);
		if (!seen.visible || item.kind !== "toolResult") return seen;
		return this.#hasItsLines(item) ? seen : { visible: false, why: "base-lost" };
	}

	/** Like `visibility`, for the lines that stand in the result itself. */
	ownVisibility(item: SentItem): Visibility {
		const isResult = item.kind === "toolResult";
		if (isResult && item.text !== item.returned) return { visible: false, why: "edited" };
		if (item.text === undefined) return { visible: false, why: "not-text" };
		if (isResult && !this.#isAsReturned(item, item.text))
			return { visible: false, why: "rewritten" };
		const observation = this.#observation;
		const { sessionId, resultsByCall, callIds } = this.#state;
		if (observation?.sessionId !== sessionId) return { visible: true };
		const siblings = resultsByCall.get(item.toolCallId) ?? [];
		const sent = observation.textsOf(item.toolCallId);
		if (sent.length === 0) return { visible: false, why: "not-sent" };
		if (sent.length !== siblings.length) return { visible: false, why: "ambiguous" };
		if (sent[siblings.indexOf(item)] !== item.text) return { visible: false, why: "altered" };
		if (!observation.isInOrder(callIds)) return { visible: false, why: "reordered" };
		return { visible: true };
	}

	/** The result's text with its references expanded; `undefined` if a line is lost. */
	fullText(item: ToolResultItem): string | undefined {
		const note = shortenedOf(item);
		if (!note || item.text === undefined) return item.text;
		const text = expandReferences(
			item.text,
			note.references,
			(base) => this.#baseOf(item, base)?.returned,
		);
		return text !== undefined && hashBytes(text) === note.expanded ? text : undefined;
	}

	/** Whether the session shows the lines that `item` refers to, whatever requests hold. */
	hasItsBases(item: ToolResultItem): boolean {
		return this.#refersTo(item, (base) => base.text === base.returned);
	}

	/** The result of a call; `undefined` if several share its id. Of the log as it was last returned. */
	onlyResultOf(toolCallId: string): ToolResultItem | undefined {
		const [only, ...others] = this.#state.resultsByCall.get(toolCallId) ?? [];
		return only?.kind === "toolResult" && others.length === 0 ? only : undefined;
	}

	/** The earlier result that a reference in `item` means. Its call must be visible, since it is named. */
	#baseOf(item: ToolResultItem, base: string): ToolResultItem | undefined {
		const result = this.onlyResultOf(base);
		const isMeant = result && result.order < item.order && result.input !== undefined;
		return isMeant ? result : undefined;
	}

	#isAsReturned(item: ToolResultItem, text: string): boolean {
		return getOrAdd(this.#state.asReturned, item, () => {
			const expected = this.#returnedHash?.(item);
			const short = shortenedOf(item);
			if (!short) return expected === undefined || hashBytes(text) === expected;
			const isProven = expected === undefined || short.expanded === expected;
			return isProven && hashBytes(text) === short.shown;
		});
	}

	#hasItsLines(item: ToolResultItem): boolean {
		return this.#refersTo(item, (base) => this.ownVisibility(base).visible);
	}

	/** Whether all references of `item` mean the lines that they meant at first, in results that `isShown`. */
	#refersTo(item: ToolResultItem, isShown: (base: ToolResultItem) => boolean): boolean {
		const { references } = shortenedOf(item) ?? {};
		if (!references) return true;
		const bases = new Set(references.map(({ base }) => this.#baseOf(item, base)));
		for (const base of bases) if (!base || !isShown(base)) return false;
		return getOrAdd(this.#state.expands, item, () => this.fullText(item) !== undefined);
	}
}

type State = ReturnType<typeof emptyState>;
type Entry<Type extends SessionEntry["type"]> = SessionEntry & { type: Type };

function emptyState(sessionId: string, epoch: number) {
	return {
		epoch,
		sessionId,
		leafId: null as string | null,
		items: [] as ContextItem[],
		/** Arguments by call id, for calls whose results are pending or in the log. */
		inputs: new Map<string, unknown>(),
		callIds: [] as string[],
		sent: new Map<string, SentItem>(),
		resultsByCall: new Map<string, SentItem[]>(),
		restored: new Set<string>(),
		/** Memoizes the hash check. It stays valid, since only edits change items and edits are checked first. */
		asReturned: new WeakMap<ToolResultItem, boolean>(),
		/** Memoizes whether a shortened result and its bases are the text that was shortened. */
		expands: new WeakMap<ToolResultItem, boolean>(),
	};
}

/** Appends the new entries if the branch only grew. Otherwise rebuilds the log from the projection. */
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
		if (sourceEntry.type === "compaction") continue; // the projection has already applied the compaction
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

/** `content` has context edits applied. Returns false if the log must be rebuilt. */
function append(state: State, entry: SessionEntry, content: unknown): boolean {
	switch (entry.type) {
		case "compaction":
			return false;
		case "context_edit":
			return applyEdit(state, entry.targetId, entry.replacement?.content);
		case "custom": {
			const { id: entryId, customType, data } = entry;
			state.items.push({ kind: "custom", entryId, customType, data });
			if (customType === CLEARING_ENTRY) applyClearing(state, property(data, "through"));
			return true;
		}
		case "custom_message":
			state.items.push(addSent(state, messageItem(entry, content)));
			return true;
		case "message":
			if (entry.message.role === "assistant") noteCalls(state, content);
			if (entry.message.role === "toolResult") addResult(state, entry, content);
			return true;
		default:
			return true; // the ledger does not track other entries
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
			// If two calls of one message share an id, their results cannot be matched.
			state.inputs.set(block.id, named.has(block.id) ? undefined : block.arguments);
			named.add(block.id);
		}
	}
}

function addResult(state: State, entry: Entry<"message">, content: unknown): void {
	const { message } = entry;
	if (message.role !== "toolResult") return;
	const text = textOf(content);
	const stored = { details: message.details, returned: textOf(message.content) };
	const restored = text === stored.returned ? undefined : restoredResult({ ...stored, text });
	if (restored) state.restored.add(entry.id);
	const item: ToolResultItem = {
		kind: "toolResult",
		entryId: entry.id,
		toolCallId: message.toolCallId,
		toolName: message.toolName,
		input: state.inputs.get(message.toolCallId),
		isError: message.isError === true,
		...(restored ?? stored),
		text,
		since: Date.parse(entry.timestamp) || message.timestamp,
		order: state.items.length,
		tokens: estimateTokens(text?.length ?? 0),
	};
	state.items.push(addSent(state, item));
}

function messageItem(entry: Entry<"custom_message">, content: unknown): CustomMessageItem {
	return {
		kind: "customMessage",
		entryId: entry.id,
		customType: entry.customType,
		// A message without an id cannot be found in a request, so it is never visible.
		toolCallId: messageId(entry.details) ?? `entry:${entry.id}`,
		texts: textBlocks(content),
		text: textOf(content),
	};
}

function addSent<Item extends SentItem>(state: State, item: Item): Item {
	state.sent.set(item.entryId, item);
	state.callIds.push(item.toolCallId);
	getOrAdd(state.resultsByCall, item.toolCallId, (): SentItem[] => []).push(item);
	return item;
}

/** The provider no longer shows this result and all before it. */
function applyClearing(state: State, through: unknown): void {
	const last = state.items.findLastIndex(
		(item) => item.kind === "toolResult" && item.toolCallId === through,
	);
	for (const item of state.items.slice(0, last + 1)) {
		if (item.kind === "toolResult") Object.assign(item, { text: undefined, tokens: 0 });
	}
}

/** The newest edit wins. Returns false if more than the text of a result changes: the log must be rebuilt then. */
function applyEdit(state: State, targetId: string, content: unknown): boolean {
	const item = state.sent.get(targetId);
	if (item?.kind !== "toolResult" || state.restored.has(targetId)) return false;
	const text = textOf(content);
	if (property(item.details, "birth") && restoredResult({ ...item, text })) return false;
	item.text = text;
	item.tokens = estimateTokens(item.text?.length ?? 0);
	return true;
}

/** Data of a {@link PIN_ENTRY}, which pins or unpins the result from here on. */
export interface PinEntry {
	readonly toolCallId: string;
	readonly pinned: boolean;
}

/** The user's latest entry wins. Impact summaries are pinned if `pinImpactSummaries` is set. */
export function pinnedCalls(
	items: readonly ContextItem[],
	{ pinImpactSummaries }: { pinImpactSummaries: boolean },
): Set<string> {
	const pinned = new Set<string>();
	for (const item of items) {
		const isImpact = item.kind === "toolResult" && item.toolName === "kota_impact";
		if (isImpact && pinImpactSummaries) pinned.add(item.toolCallId);
		const isPin = item.kind === "custom" && item.customType === PIN_ENTRY;
		const pin = isPin ? parsePin(item.data) : undefined;
		if (pin?.pinned) pinned.add(pin.toolCallId);
		else if (pin) pinned.delete(pin.toolCallId);
	}
	return pinned;
}

function parsePin(data: unknown): PinEntry | undefined {
	const toolCallId = property(data, "toolCallId");
	const pinned = property(data, "pinned");
	if (typeof toolCallId !== "string" || typeof pinned !== "boolean") return undefined;
	return { toolCallId, pinned };
}
