import { type Signal, signal } from "@preact/signals";

/** The text of the prompt box, across views of the session. */
export interface Draft {
	readonly text: Signal<string>;
	/** Grows when text was placed: the box takes the focus. */
	readonly placed: Signal<number>;
	/** Puts text above what is there, unless it is there already. */
	place(text: string): void;
}

export interface TextStore {
	read(): string;
	write(text: string): void;
}

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
				// Without storage, or room in it, the draft lasts until a reload.
			}
		},
	};
}
