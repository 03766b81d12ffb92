import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import type { FileEntry } from "../../core/session-file-watch.ts";
import type { Data } from "../../protocol/index.ts";
import type { ConversationStore, SessionRecord, StreamName } from "../journal/journal.ts";
import { fileEntriesOf, replaceFile } from "./session-file.ts";
import { parseJson, sessionFolder } from "./stored-sessions.ts";
import { parseSettings } from "./stored-settings.ts";

export interface RestoredConversation {
	readonly id: string;
	readonly count: number;
}

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

/**
 * Writes pi's file from the journal, for a session that another server had. An older file with other content is
 * set aside, never merged; one that a pi in a terminal has open stays, and a new one is written beside it. Resolves to
 * the record with the file's place on this machine.
 */
export async function restoreConversation(
	record: SessionRecord,
	store: ConversationStore,
	agentDir: string,
	openInPi: ReadonlyMap<string, number> = new Map(),
): Promise<{ record: SessionRecord; restored?: RestoredConversation }> {
	const { piSessionId } = parseSettings(record.settings);
	if (piSessionId === undefined) return { record: withoutFile(record) };
	const name = { principal: record.principal, sessionId: record.id };
	const entries = await store.entries(name, piSessionId);
	if (entries.length === 0) {
		const isHere = record.file !== undefined && existsSync(record.file);
		return { record: isHere ? record : withoutFile(record) };
	}
	let file = join(sessionFolder(agentDir, record.cwd), fileName(record, entries[0], piSessionId));
	const content = entries.map((entry) => `${entry}\n`).join("");
	mkdirSync(dirname(file), { recursive: true });
	const before = existsSync(file) ? readFileSync(file, "utf8") : undefined;
	if (before !== content) {
		if (before !== undefined && openInPi.has(realpathSync(file))) {
			file = unused((number) => file.replace(/(\.jsonl)?$/, `-${number}.jsonl`));
		} else if (before !== undefined && !content.startsWith(before)) {
			renameSync(
				file,
				unused((number) => `${file}.old-${number}`),
			);
		}
		replaceFile(file, content, 0o600);
	}
	return { record: { ...record, file }, restored: { id: piSessionId, count: entries.length } };
}

function withoutFile({ file: _, ...record }: SessionRecord): SessionRecord {
	return record;
}

/** As pi names it: by the time in the header and the id. */
function fileName({ file }: SessionRecord, header: string | undefined, id: string): string {
	if (file !== undefined) return basename(file);
	const { timestamp = "" } = (parseJson(header) ?? {}) as { timestamp?: string };
	return `${timestamp.replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
}

function unused(pathOf: (number: number) => string): string {
	for (let number = 1; ; number++) {
		const path = pathOf(number);
		if (!existsSync(path)) return path;
	}
}
