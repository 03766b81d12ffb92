import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
import { temporaryName } from "../../core/atomic-file.ts";
import { errnoOf } from "../../core/errno.ts";
import { property } from "../../core/property.ts";
import { readPartSync } from "../../core/regular-file.ts";
import {
	type FileEntry,
	linesOfEntries,
	type SessionFileWatch,
	watchSessionFile,
} from "../../core/session-file-watch.ts";
import { CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";

interface FileGuardOptions {
	session(): AgentSession | undefined;
	notify(message: string, type: "info" | "warning" | "error"): void;
	onMoved(): void;
	onRepaired(): void;
}

const RETRY_MS = 1000;

/** Restores entries missing in the file. Pi ignores a failed append, which orphans later entries. */
export class FileGuard {
	readonly #options: FileGuardOptions;
	#watched: SessionFileWatch | undefined;
	#retry: NodeJS.Timeout | undefined;
	#reported: string | undefined;
	#isClosed = false;

	constructor(options: FileGuardOptions) {
		this.#options = options;
	}

	get lastInFile(): string | undefined {
		const file = this.#options.session()?.sessionManager.getSessionFile();
		return this.#watched?.file === file ? this.#watched?.last : undefined;
	}

	/** Lines that were unreadable when the file was opened. */
	get garbled(): SessionFileWatch["garbled"] {
		return this.#watched?.garbled ?? [];
	}

	/** Repairs the file if needed. On failure, throws and retries every second. Usually costs one stat. */
	check(): void {
		const { session, notify, onRepaired } = this.#options;
		const pi = session();
		if (!pi || this.#isClosed) return; // after `close`, another session may have the file
		try {
			this.#repair(pi);
		} catch (error) {
			const message = `The last entries are missing in the session's file, because the server cannot write it (${safeText(error)}). Changes are refused until it can; reads still work.`;
			if (!this.#retry) {
				this.#retry = setInterval(() => this.checkAndReport(), RETRY_MS).unref();
				notify(message, "error");
			}
			throw new CommandError("wrong_state", message, { cause: error });
		}
		if (!this.#retry) return;
		clearInterval(this.#retry);
		this.#retry = undefined;
		notify("The session's file is complete again.", "info");
		onRepaired();
	}

	/** Like `check`, but never throws. */
	checkAndReport(): void {
		try {
			this.check();
		} catch {
			// `check` reported it, and retries
		}
	}

	/** Retries a failed repair, then stops writing to the file. */
	close(): void {
		if (this.#retry) this.checkAndReport();
		clearInterval(this.#retry);
		this.#isClosed = true;
	}

	#repair(pi: AgentSession): void {
		const { sessionManager } = pi;
		const file = sessionManager.getSessionFile();
		if (file === undefined) return;
		if (this.#watched?.file !== file) this.#watched = watchSessionFile(file);
		const watched = this.#watched;
		const { isSeen } = watched;
		const state = watched.check(fileEntriesOf(sessionManager));
		if (state.kind === "in-step" || state.kind === "unwritten") return;
		if (state.kind === "foreign") {
			if (pi.isStreaming && state.missing > 0) throw new Error("another program writes to it");
			this.#continueInCopy(pi, file, state.entries > 0);
			return;
		}
		// Before pi appends to a file that it did not write, it must read the file: impossible during a run.
		if (!isSeen && pi.isStreaming) throw new Error("the run must end first");
		if (state.kind === "behind") {
			appendFileSync(file, state.rest);
			if (!isSeen) reopen(pi, file);
		} else {
			writeSessionFile(pi, file);
		}
		const after = watched.check(fileEntriesOf(sessionManager));
		if (after.kind !== "in-step") throw new Error("entries are still missing");
	}

	/** Moves the session to a copy, and leaves the file to the other program. */
	#continueInCopy(pi: AgentSession, file: string, isForeign: boolean): void {
		const cause = isForeign
			? "Another program writes to the file of this session"
			: "The file of this session holds an unreadable line";
		const isNew = this.#reported !== file;
		this.#reported = file;
		const { isStreaming } = pi;
		if (!isStreaming) {
			moveToCopy(pi);
			this.#options.onMoved();
		}
		const who = isStreaming ? "At the end of the run the session" : "The session";
		const message = `${cause}. ${who} continues in a copy that has all of the session's own entries.`;
		if (isNew) this.#options.notify(message, "warning");
		if (!isStreaming) this.#repair(pi);
	}
}

/** Entries in file order, with the header first. */
export function fileEntriesOf(manager: SessionManager): readonly FileEntry[] {
	// Uses pi's internal list if present, because `getEntries` copies, which is slow in a long session.
	const { fileEntries } = manager as unknown as { fileEntries?: unknown };
	if (Array.isArray(fileEntries)) return fileEntries;
	const header = manager.getHeader();
	return [...(header ? [header] : []), ...manager.getEntries()];
}

export function lastEntryOf(manager: SessionManager): string | undefined {
	const entries = fileEntriesOf(manager);
	return entries.length > 1 ? entries.at(-1)?.id : undefined;
}

/** Writes a missing or headerless file. Pi waits for an answer, and a crash until then would lose input. */
export function ensureSessionFile(session: AgentSession): void {
	const { sessionManager, isStreaming } = session;
	const file = sessionManager.getSessionFile();
	if (!file || !sessionManager.getHeader() || isStreaming || hasHeader(file)) return;
	writeSessionFile(session, file);
}

/** Replaces the file atomically. Pi continues in the new file from the same leaf. */
function writeSessionFile(
	session: AgentSession,
	file: string,
	header = session.sessionManager.getHeader(),
): void {
	const { sessionManager } = session;
	if (!header) throw new Error("the session has no header");
	const before = statSync(sessionManager.getSessionFile() ?? file, { throwIfNoEntry: false });
	replaceFile(file, linesOfEntries([header, ...sessionManager.getEntries()]), before?.mode);
	reopen(session, file);
}

/** Makes pi load the file, except during a run in it: pi already holds its entries. */
function reopen(session: AgentSession, file: string): void {
	const { sessionManager } = session;
	if (session.isStreaming && sessionManager.getSessionFile() === file) return;
	const leaf = sessionManager.getLeafId();
	sessionManager.setSessionFile(file);
	moveTo(sessionManager, leaf);
	session.refreshContext();
}

function moveToCopy(session: AgentSession): void {
	const { sessionManager } = session;
	const parentSession = sessionManager.getSessionFile();
	const copy = SessionManager.create(
		sessionManager.getCwd(),
		sessionManager.getSessionDir(),
		parentSession === undefined ? {} : { parentSession },
	);
	const file = copy.getSessionFile();
	if (file === undefined) throw new Error("the copy of the session has no file");
	writeSessionFile(session, file, copy.getHeader());
}

export function replaceFile(file: string, content: string, mode = 0o666): void {
	mkdirSync(dirname(file), { recursive: true });
	const temporary = join(dirname(file), temporaryName());
	try {
		writeFileSync(temporary, content, { flag: "wx", flush: true, mode: mode & 0o777 });
		renameSync(temporary, file);
	} catch (error) {
		rmSync(temporary, { force: true });
		throw error;
	}
}

const HEADER = '{"type":"session",';

function hasHeader(path: string): boolean {
	try {
		return readPartSync(path, 0, HEADER.length).toString() === HEADER;
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return false;
		throw error;
	}
}

/** `null` is the position before the first entry. */
export function moveTo(manager: SessionManager, leaf: string | null): void {
	if (leaf === null) manager.resetLeaf();
	else manager.branch(leaf);
}

/** Memoizes the session name, because pi searches all entries at each change. */
export function memoizeName(manager: SessionManager): void {
	const ask = manager.getSessionName.bind(manager);
	let known = { entries: [] as unknown[], count: 0, last: undefined as unknown, name: "" };
	manager.getSessionName = () => {
		const entries = property(manager, "fileEntries");
		if (!Array.isArray(entries)) return ask();
		// Pi only appends to this array or removes its last entry. Another file gets a new array.
		const isSame = known.entries === entries && entries[known.count - 1] === known.last;
		const later = isSame ? entries.slice(known.count) : entries;
		const info = later.findLast((entry) => property(entry, "type") === "session_info");
		const found = info ? property(info, "name") : isSame && known.name;
		const name = typeof found === "string" ? found.trim() : "";
		known = { entries, count: entries.length, last: entries.at(-1), name };
		// As in pi, an empty name means no name.
		return name || undefined;
	};
}
