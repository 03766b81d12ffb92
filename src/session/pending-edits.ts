import { isDeepStrictEqual } from "node:util";
import { SHOWN_EDITS_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import type { SessionSource } from "./messages.ts";
import { editId, textOf } from "./messages.ts";

/** What a message becomes; `null` removes it. */
export type EditContent = { type: "text"; text: string }[] | null;

/** An edit of a message that requests show before the session has it. */
export interface PendingEdit {
	/** The system that made it. */
	readonly owner: string;
	/** The entry that it edits. */
	readonly entryId: string;
	/** What the message is known by in a request: see `editId`. */
	readonly sentAs: string;
	/**
	 * The text that it replaces. An edit with `original` replaces just that text and gives way to any other edit; one
	 * without it is pending until the session shows its content.
	 */
	readonly original?: string;
	readonly content: EditContent;
}

/**
 * Edits on their way into the session. They are put into every request and drafted at each end of a turn until the
 * session shows them: another extension may drop a draft, and a request must not show again what one before has hidden.
 */
export interface PendingEdits {
	add(edit: PendingEdit): void;
	get(entryId: string): PendingEdit | undefined;
	/** Gives an edit up: the next request shows the text again. */
	drop(entryId: string): void;
	/** All edits are of a branch: leaving it drops them. */
	clear(): void;
	/** A request's messages with an owner's edits in them: the same array if nothing changed. */
	applyTo<Message>(messages: readonly Message[], owner: string): readonly Message[];
	/** The edits of an owner that the session does not have yet. */
	unsettled(owner: string, source: SessionSource): PendingEdit[];
	/** Takes out what the session shows or no longer has in its context. Returns the edits that it shows now. */
	settle(owner: string, source: SessionSource): PendingEdit[];
	/**
	 * The edits on record that answers of this branch have seen in their requests, if neither the session nor this
	 * list has them. Each owner gets them once for a branch.
	 */
	recorded(owner: string, source: SessionSource): Map<string, EditContent>;
	/**
	 * A request was built whose answer's thinking is bound to it. Records the edits that `messages` show: the session gets
	 * them at the end of the turn, behind the answer. A session that goes on right from that answer (in the tree, as a fork,
	 * after a crash) has this record only.
	 */
	noteBinding(source: SessionSource, messages: readonly unknown[]): void;
}

/** Makes an empty list. */
export function createPendingEdits(
	ledger: Pick<Ledger, "log">,
	host: Pick<Host, "appendEntry">,
): PendingEdits {
	const pending = new Map<string, PendingEdit>();
	const restored = new Set<string>();
	const of = (owner: string) => [...pending.values()].filter((edit) => edit.owner === owner);

	return {
		add: (edit) => void pending.set(edit.entryId, edit),
		get: (entryId) => pending.get(entryId),
		drop: (entryId) => void pending.delete(entryId),
		clear() {
			pending.clear();
			restored.clear();
		},
		applyTo: (messages, owner) =>
			edit(messages, new Map(of(owner).map((one) => [one.sentAs, one]))),
		unsettled,
		settle(owner, source) {
			const shown = shownTexts(source);
			return of(owner).filter((one) => {
				const state = stateOf(one, shown(one.entryId));
				if (state !== "pending") pending.delete(one.entryId);
				return state === "shown";
			});
		},
		recorded(owner, source) {
			if (restored.has(owner)) return new Map();
			restored.add(owner);
			const edits = recordedEdits(source);
			for (const id of edits.keys()) if (pending.has(id)) edits.delete(id);
			return edits;
		},
		noteBinding(source, messages) {
			if (pending.size === 0) return;
			const shown = shownTexts(source);
			const sent = Map.groupBy(messages, editId);
			const known = recordedEdits(source);
			const fresh = [...pending.values()]
				.filter((one) => stateOf(one, shown(one.entryId)) === "pending")
				.filter(({ sentAs, content }) => isShown(content, sent.get(sentAs) ?? []))
				.filter(({ entryId, content }) => !isDeepStrictEqual(known.get(entryId), content))
				.map(({ entryId, content }) => [entryId, content]);
			if (fresh.length > 0) host.appendEntry(SHOWN_EDITS_ENTRY, { v: 1, edits: fresh });
		},
	};

	function unsettled(owner: string, source: SessionSource): PendingEdit[] {
		const shown = shownTexts(source);
		return of(owner).filter((one) => stateOf(one, shown(one.entryId)) === "pending");
	}

	/** The texts of an entry as the session shows them; `undefined` for one that is not in the context. */
	function shownTexts(source: SessionSource): (entryId: string) => readonly string[] | undefined {
		const { sent } = ledger.log(source);
		return (entryId) => {
			const item = sent.get(entryId);
			if (item?.kind === "customMessage") return item.texts.length > 0 ? item.texts : undefined;
			return item?.text === undefined ? undefined : [item.text];
		};
	}
}

function edit<Message>(
	messages: readonly Message[],
	byId: ReadonlyMap<string, PendingEdit>,
): readonly Message[] {
	if (byId.size === 0) return messages;
	const known = Map.groupBy(messages, (message) => byId.get(editId(message) ?? ""));
	let isChanged = false;
	const edited = messages.flatMap((message) => {
		const one = byId.get(editId(message) ?? "");
		if (!one || !isMeant(one, message)) return [message];
		isChanged = true;
		return one.content ? [{ ...message, content: one.content }] : [];
	});
	return isChanged ? edited : messages;

	/** Ids may be used twice, and others may have changed the text. */
	function isMeant(one: PendingEdit, message: Message): boolean {
		if (one.original === undefined) return known.get(one)?.length === 1;
		return textOf(property(message, "content")) === one.original;
	}
}

/** Whether messages of a request are what an edit makes of them. */
function isShown(content: EditContent, messages: readonly unknown[]): boolean {
	if (content === null) return messages.length === 0;
	return messages.some((message) => isDeepStrictEqual(property(message, "content"), content));
}

function stateOf(
	{ original, content }: PendingEdit,
	shown: readonly string[] | undefined,
): "pending" | "shown" | "gone" {
	const wanted = content?.map(({ text }) => text);
	if (isDeepStrictEqual(shown, wanted)) return "shown";
	if (shown === undefined) return "gone";
	return original === undefined || shown[0] === original ? "pending" : "gone";
}

/** Recorded edits that the branch does not have. A compaction ends them, as it ends the thinking before it. */
export function recordedEdits(source: Pick<SessionSource, "getBranch">): Map<string, EditContent> {
	const edits = new Map<string, EditContent>();
	for (const entry of source.getBranch()) {
		if (entry.type === "compaction") edits.clear();
		else if (entry.type === "context_edit") edits.delete(entry.targetId);
		else if (entry.type === "custom" && entry.customType === SHOWN_EDITS_ENTRY) {
			for (const [id, content] of editsIn(entry.data)) edits.set(id, content);
		}
	}
	return edits;
}

/** Session files may hold anything. */
function editsIn(data: unknown): [string, EditContent][] {
	const edits = property(data, "edits");
	return Array.isArray(edits) ? edits.filter(isEdit) : [];
}

function isEdit(value: unknown): value is [string, EditContent] {
	if (!Array.isArray(value) || typeof value[0] !== "string") return false;
	const content: unknown = value[1];
	if (content === null) return true;
	return (
		Array.isArray(content) &&
		content.every((block) => block?.type === "text" && typeof block.text === "string")
	);
}
