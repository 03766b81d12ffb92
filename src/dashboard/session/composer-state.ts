import { signal } from "@preact/signals";
import { client } from "../connection/connection.ts";
import { errorMessage } from "../parts/figures.ts";
import { orToast, toast } from "../parts/notices.tsx";
import { type StoredText, storedText } from "../parts/storage.ts";
import { type Origin, openBeside } from "../sessions/open-stored.ts";
import { type Attachments, createAttachments } from "./attachments.tsx";
import { Outbox, returnsToDraft } from "./outbox.ts";

/** A session's draft and unanswered commands. They are kept when the session's view closes. */
export interface ComposerState {
	readonly draft: Draft;
	readonly attachments: Attachments;
	readonly outbox: Outbox;
	/** The session when the latest command was sent: /new and /clone take its place. */
	origin?: Origin | undefined;
}

const states = new Map<string, ComposerState>();
const OUTBOX_PREFIX = "strata.outbox.";

export function composerStateOf(sessionId: string): ComposerState {
	const known = states.get(sessionId);
	if (known) return known;
	const draft = createDraft(storedText(`strata.draft.${sessionId}`));
	const outbox = new Outbox({
		client: client(),
		sessionId,
		store: storedText(OUTBOX_PREFIX + sessionId),
		onDone(command, data) {
			const { type } = command;
			if (type === "export_html") toast(`Saved on the server: ${(data as { path: string }).path}`);
			const isReplaced = type === "new_session" || type === "clone";
			if (isReplaced && !(data as { cancelled: boolean }).cancelled) void openBeside(state.origin);
			if (type === "set_thinking_level") void checkLevel(sessionId, command.fields.level);
		},
		onFailed(text, { type }, error) {
			toast(errorMessage(error), "error");
			if (returnsToDraft(type, error.code)) draft.prepend(text);
		},
	});
	const state: ComposerState = { draft, attachments: createAttachments(), outbox };
	states.set(sessionId, state);
	return state;
}

/** pi takes the nearest level that the model has, and says nothing. */
async function checkLevel(sessionId: string, wanted: string): Promise<void> {
	const answer = await orToast(client().request("get_state", { sessionId }));
	const level = answer?.data.thinkingLevel;
	if (level === undefined || level === wanted) return;
	toast(`This model has no thinking level “${wanted}”. It is “${level}” now.`, "warning");
}

/** Sends again the commands that were unanswered when this tab was reloaded. */
export function restoreOutboxes(): void {
	try {
		for (const key of Object.keys(sessionStorage)) {
			if (key.startsWith(OUTBOX_PREFIX)) composerStateOf(key.slice(OUTBOX_PREFIX.length));
		}
	} catch {
		// Without access to storage there is nothing to restore.
	}
}

export type Draft = ReturnType<typeof createDraft>;

/** The text of the prompt box. It is kept when the session's view changes. */
export function createDraft(store: StoredText) {
	const text = signal(store.read());
	/** Counts the calls of `focus` and `prepend`. Each call gives the prompt box the focus, once it is shown. */
	const focuses = signal(0);
	text.subscribe((value) => store.write(value));
	return {
		text,
		focuses,
		focus(): void {
			focuses.value++;
		},
		/** Puts text above the draft, unless it is already there. */
		prepend(given: string): void {
			const old = text.value;
			const isThere = old === given || old.startsWith(`${given}\n`);
			if (!isThere) text.value = old.trim() === "" ? given : `${given}\n${old}`;
			focuses.value++;
		},
	};
}
