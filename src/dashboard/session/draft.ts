import { type Signal, signal } from "@preact/signals";

/** What is in the prompt box; it stays while other views of the session are shown. */
export interface Draft {
	readonly text: Signal<string>;
	/** Grows when text was put there from elsewhere: the box should take the focus. */
	readonly placed: Signal<number>;
	/** Puts text there, above what is there already; what is at its beginning already is not repeated. */
	place(text: string): void;
}

/** Where a text is kept that must not be lost when the page is loaded again. */
export interface TextStore {
	read(): string;
	write(text: string): void;
}

/** A prompt box with what was in it when the page was last here. */
export function createDraft(store: TextStore): Draft {
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

/** Keeps the draft of a session for as long as the tab is open. */
export function draftStoreOf(sessionId: string): TextStore {
	const key = `strata.draft.${sessionId}`;
	return {
		read() {
			try {
				return sessionStorage.getItem(key) ?? "";
			} catch {
				return ""; // storage may be forbidden
			}
		},
		write(text) {
			try {
				if (text === "") sessionStorage.removeItem(key);
				else sessionStorage.setItem(key, text);
			} catch {
				// Without storage, or room in it, the draft lasts until the page is loaded again.
			}
		},
	};
}
