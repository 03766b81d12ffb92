import { type Signal, signal } from "@preact/signals";

/** What is in the prompt box; it stays while other views of the session are shown. */
export interface Draft {
	readonly text: Signal<string>;
	/** Grows when text was put there from elsewhere: the box should take the focus. */
	readonly placed: Signal<number>;
	/** Puts text there, above what is there already; what is at its beginning already is not repeated. */
	place(text: string): void;
}

/** An empty prompt box. */
export function createDraft(): Draft {
	const text = signal("");
	const placed = signal(0);
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
