import { signal } from "@preact/signals";
import { client } from "../connection/connection.ts";
import { toast } from "../parts/notices.tsx";
import { type StoredText, storedText } from "../parts/storage.ts";
import { createOutbox, goesBack, type Outbox } from "./outbox.ts";

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
		store: storedText(PREFIX + sessionId),
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

export function restoreDesks(): void {
	try {
		for (const key of Object.keys(sessionStorage)) {
			if (key.startsWith(PREFIX)) deskOf(key.slice(PREFIX.length));
		}
	} catch {
		// Without storage nothing was kept.
	}
}

export type Draft = ReturnType<typeof createDraft>;

/** The text of the prompt box, across views of the session. */
export function createDraft(store: StoredText) {
	const text = signal(store.read());
	/** Grows when text was placed: the box takes the focus. */
	const placed = signal(0);
	text.subscribe(store.write);
	return {
		text,
		placed,
		/** Puts text above what is there, unless it is there already. */
		place(given: string): void {
			const old = text.value;
			const isThere = old === given || old.startsWith(`${given}\n`);
			if (!isThere) text.value = old.trim() === "" ? given : `${given}\n${old}`;
			placed.value++;
		},
	};
}
