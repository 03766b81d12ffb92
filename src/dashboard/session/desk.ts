import { type Signal, signal } from "@preact/signals";
import { client } from "../connection/connection.ts";
import { type StoredText, storedText } from "../parts/storage.ts";
import { toast } from "../parts/toasts.tsx";
import {
	createOutbox,
	goesBack,
	type Outbox,
	type OutboxStore,
	type StoredText as OutgoingText,
} from "./outbox.ts";

/** What the user writes for a session. It outlives the session's view. */
export interface Desk {
	readonly draft: Draft;
	readonly outbox: Outbox;
}

const desks = new Map<string, Desk>();
const PREFIX = "strata.outbox.";

export function deskOf(sessionId: string): Desk {
	const known = desks.get(sessionId);
	if (known) return known;
	const draft = createDraft(storedText(`strata.draft.${sessionId}`));
	const outbox = createOutbox({
		client: client(),
		sessionId,
		store: outboxStoreOf(sessionId),
		onDone({ type }, data) {
			if (type === "export_html")
				toast(`Written on the server: ${(data as { path: string }).path}`);
		},
		onFailed(text, { type }, error) {
			toast(error.message, "error");
			if (goesBack(type, error.code)) draft.place(text);
		},
	});
	const desk = { draft, outbox };
	desks.set(sessionId, desk);
	return desk;
}

/** Sends what was not answered before the last reload, of all sessions. */
export function restoreDesks(): void {
	try {
		for (const key of Object.keys(sessionStorage)) {
			if (key.startsWith(PREFIX)) deskOf(key.slice(PREFIX.length));
		}
	} catch {
		// Without storage nothing was kept.
	}
}

function outboxStoreOf(sessionId: string): OutboxStore {
	const stored = storedText(PREFIX + sessionId);
	return {
		read() {
			try {
				const kept: unknown = JSON.parse(stored.read() || "[]");
				return Array.isArray(kept) ? kept.filter(isStoredText) : [];
			} catch {
				return []; // damaged
			}
		},
		write: (texts) => stored.write(texts.length === 0 ? "" : JSON.stringify(texts)),
	};
}

function isStoredText(given: OutgoingText | null): given is OutgoingText {
	return typeof given?.id === "string" && typeof given.text === "string";
}

/** The text of the prompt box, across views of the session. */
export interface Draft {
	readonly text: Signal<string>;
	/** Grows when text was placed: the box takes the focus. */
	readonly placed: Signal<number>;
	/** Puts text above what is there, unless it is there already. */
	place(text: string): void;
}

export function createDraft(store: StoredText): Draft {
	const text = signal(store.read());
	const placed = signal(0);
	text.subscribe(store.write);
	return {
		text,
		placed,
		place(given) {
			const old = text.value;
			const isThere = old === given || old.startsWith(`${given}\n`);
			if (!isThere) text.value = old.trim() === "" ? given : `${given}\n${old}`;
			placed.value++;
		},
	};
}
