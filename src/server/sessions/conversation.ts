import type { SessionManager } from "@earendil-works/pi-coding-agent";
import type { FileEntry } from "../../core/session-file-watch.ts";
import type { Data } from "../../protocol/index.ts";
import type { ConversationStore, StreamName } from "../journal/journal.ts";
import type { RestoredConversation } from "./restore-conversation.ts";
import { fileEntriesOf } from "./session-file.ts";

interface ConversationOptions {
	readonly store: ConversationStore;
	readonly name: StreamName;
	manager(): SessionManager | undefined;
	emit(event: Data<"SessionEvent">): void;
}

/**
 * Keeps pi's entries in the journal, before the events that report them. Pi appends an entry in the same run of
 * code as it emits the event, but after it, so events wait for the end of that run.
 */
export class Conversation {
	readonly #options: ConversationOptions;
	#id: string | undefined;
	#kept = 0;
	#last: FileEntry | undefined;
	#isRestored = false;
	#events: Data<"SessionEvent">[] = [];

	constructor(options: ConversationOptions) {
		this.#options = options;
	}

	/** The journal has the first `count` entries of this conversation: pi's file was written from them. */
	noteRestored({ id, count }: RestoredConversation): void {
		this.#id = id;
		this.#kept = count;
		this.#isRestored = true;
	}

	emit(event: Data<"SessionEvent">): void {
		this.#events.push(event);
		if (this.#events.length === 1) queueMicrotask(() => this.flush());
	}

	flush(): void {
		this.keep();
		for (const event of this.#events.splice(0)) this.#options.emit(event);
	}

	/** Hands new entries to the journal. What it refuses is handed over again. */
	keep(): void {
		const { store, name, manager } = this.#options;
		const pi = manager();
		const id = pi?.getHeader()?.id;
		if (!pi || id === undefined) return;
		const entries = fileEntriesOf(pi);
		if (this.#isRestored) this.#last = entries[this.#kept - 1];
		this.#isRestored = false;
		const isSame = id === this.#id && (this.#kept === 0 || entries[this.#kept - 1] === this.#last);
		const from = isSame ? this.#kept : 0;
		if (from === entries.length) return;
		this.#id = id;
		this.#kept = entries.length;
		this.#last = entries.at(-1);
		const bodies = entries.slice(from).map((entry) => JSON.stringify(entry));
		const { principal, sessionId } = name;
		store.keep({ principal, sessionId, conversation: id, from, bodies }).catch(() => {
			if (this.#id === id) this.#kept = 0;
		});
	}
}
