import { isDeepStrictEqual } from "node:util";
import { SHOWN_EDITS_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import { editId, isTextBlock, type SessionSource, textOf } from "./messages.ts";

/** `null` removes the message. */
type EditContent = { type: "text"; text: string }[] | null;

/** An edit that requests show but the session file does not have yet. */
export interface PendingEdit {
	readonly owner: string;
	readonly entryId: string;
	/** The message's id in a request: see `editId`. */
	readonly sentAs: string;
	/** If set, the edit applies only to this text, and is dropped if another edit changed the text. */
	readonly original?: string;
	readonly content: EditContent;
	/** Recorded for every model, since it explains what its first request costs. */
	readonly isExplained?: boolean;
}

/** Edits that are applied to requests until the session has them, so that hidden text stays hidden. */
export class PendingEdits {
	readonly #ledger: Pick<Ledger, "log">;
	readonly #host: Pick<Host, "appendEntry">;
	readonly #pending = new Map<string, PendingEdit>();
	/** Owners that have restored the recorded edits of this branch. */
	readonly #restored = new Set<string>();

	constructor(ledger: Pick<Ledger, "log">, host: Pick<Host, "appendEntry">) {
		this.#ledger = ledger;
		this.#host = host;
	}

	add(edit: PendingEdit): void {
		this.#pending.set(edit.entryId, edit);
	}

	get(entryId: string): PendingEdit | undefined {
		return this.#pending.get(entryId);
	}

	/** Cancels an edit: the next request shows the original text. */
	drop(entryId: string): void {
		this.#pending.delete(entryId);
	}

	/** Call this when the session leaves the branch. */
	clear(): void {
		this.#pending.clear();
		this.#restored.clear();
	}

	/** Returns the same array if nothing changed. */
	applyTo<Message>(messages: readonly Message[], owner: string): readonly Message[] {
		return edit(messages, new Map(this.#ownedBy(owner).map((one) => [one.sentAs, one])));
	}

	unsettled(owner: string, source: SessionSource): PendingEdit[] {
		const stateOf = this.#statesIn(source);
		return this.#ownedBy(owner).filter((one) => stateOf(one) === "pending");
	}

	/** Drops edits that the session shows, and edits whose entry left the context. Returns the former. */
	settle(owner: string, source: SessionSource): PendingEdit[] {
		const stateOf = this.#statesIn(source);
		return this.#ownedBy(owner).filter((one) => {
			const state = stateOf(one);
			if (state !== "pending") this.#pending.delete(one.entryId);
			return state === "shown";
		});
	}

	/** Recorded edits that are missing in the session and in this list. Returned once per owner and branch. */
	recorded(owner: string, source: SessionSource): Map<string, EditContent> {
		if (this.#restored.has(owner)) return new Map();
		this.#restored.add(owner);
		const edits = recordedEdits(source);
		for (const id of edits.keys()) if (this.#pending.has(id)) edits.delete(id);
		return edits;
	}

	/**
	 * Records the edits that `messages` show. The answer's thinking is bound to them, but the session gets
	 * them only after the answer. A fork, branch or crash recovery at that answer needs this record. Where no thinking
	 * is bound, edits that explain what the request cost are recorded all the same: those by hand and those of a cold cache.
	 */
	noteBinding(source: SessionSource, messages: readonly unknown[], isBound = true): void {
		if (this.#pending.size === 0) return;
		const stateOf = this.#statesIn(source);
		const sent = Map.groupBy(messages, editId);
		const known = recordedEdits(source);
		const fresh = [...this.#pending.values()]
			.filter((one) => (isBound || one.isExplained === true) && stateOf(one) === "pending")
			.filter(({ sentAs, content }) => isShown(content, sent.get(sentAs) ?? []))
			.filter(({ entryId, content }) => !isDeepStrictEqual(known.get(entryId), content))
			.map(({ entryId, content }) => [entryId, content]);
		if (fresh.length > 0) this.#host.appendEntry(SHOWN_EDITS_ENTRY, { v: 1, edits: fresh });
	}

	#ownedBy(owner: string): PendingEdit[] {
		return [...this.#pending.values()].filter((edit) => edit.owner === owner);
	}

	#statesIn(source: SessionSource): (edit: PendingEdit) => "pending" | "shown" | "gone" {
		const { sent } = this.#ledger.log(source);
		return ({ entryId, original, content }) => {
			const item = sent.get(entryId);
			const texts = item?.kind === "customMessage" ? item.texts : [item?.text ?? []].flat();
			const shown = texts.length > 0 ? texts : undefined;
			const wanted = content?.map(({ text }) => text);
			if (isDeepStrictEqual(shown, wanted)) return "shown";
			if (shown === undefined) return "gone";
			return original === undefined || shown[0] === original ? "pending" : "gone";
		};
	}
}

function edit<Message>(messages: readonly Message[], byId: ReadonlyMap<string, PendingEdit>) {
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

	/** Whether the edit is for `message`. Ids may repeat, and other extensions may change the text. */
	function isMeant(one: PendingEdit, message: Message): boolean {
		if (one.original === undefined) return known.get(one)?.length === 1;
		return textOf(property(message, "content")) === one.original;
	}
}

function isShown(content: EditContent, messages: readonly unknown[]): boolean {
	if (content === null) return messages.length === 0;
	return messages.some((message) => isDeepStrictEqual(property(message, "content"), content));
}

/** Recorded edits that the branch lacks. A compaction drops them, along with the thinking before it. */
export function recordedEdits(source: Pick<SessionSource, "getBranch">): Map<string, EditContent> {
	const edits = new Map<string, EditContent>();
	for (const entry of source.getBranch()) {
		if (entry.type === "compaction") edits.clear();
		else if (entry.type === "context_edit") edits.delete(entry.targetId);
		else if (entry.type === "custom" && entry.customType === SHOWN_EDITS_ENTRY) {
			for (const [id, content] of shownEdits(entry.data)) edits.set(id, content);
		}
	}
	return edits;
}

/** The edits of an entry of `SHOWN_EDITS_ENTRY`. Skips invalid ones, since session files are untrusted. */
export function shownEdits(data: unknown): [string, EditContent][] {
	const edits = property(data, "edits");
	return Array.isArray(edits) ? edits.filter(isEdit) : [];
}

function isEdit(value: unknown): value is [string, EditContent] {
	if (!Array.isArray(value) || typeof value[0] !== "string") return false;
	const content: unknown = value[1];
	return content === null || (Array.isArray(content) && content.every(isTextBlock));
}
