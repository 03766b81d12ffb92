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
	moved(): void;
	mended(): void;
}

const RETRY_MS = 1000;

export type FileGuard = ReturnType<typeof createFileGuard>;

/** Restores entries missing in the file: pi ignores a failed append, which orphans later ones. */
export function createFileGuard(options: FileGuardOptions) {
	const { session, notify, moved, mended } = options;
	let watched: SessionFileWatch | undefined;
	let retry: NodeJS.Timeout | undefined;
	let reported: string | undefined;
	let isClosed = false;

	/** Throws a {@link CommandError} on failure and retries every second. Idle cost: one stat. */
	function check(): void {
		const pi = session();
		if (!pi || isClosed) return; // another session may have the file
		try {
			mend(pi);
		} catch (error) {
			const message = `What was said last is not in the session's file, which cannot be written (${safeText(error)}). Changes are refused until it can be; reads go on.`;
			if (!retry) {
				retry = setInterval(watch, RETRY_MS).unref();
				notify(message, "error");
			}
			throw new CommandError("wrong_state", message, { cause: error });
		}
		if (!retry) return;
		clearInterval(retry);
		retry = undefined;
		notify("The session's file is whole again: nothing is missing in it.", "info");
		mended();
	}

	/** `check` during a run: reports failures, never throws. */
	function watch(): void {
		try {
			check();
		} catch {
			// reported, and retried
		}
	}

	return {
		check,
		watch,
		lastInFile(): string | undefined {
			const file = session()?.sessionManager.getSessionFile();
			return watched?.file === file ? watched?.last : undefined;
		},
		/** As of opening the file. */
		garbled: () => watched?.garbled ?? [],
		/** Retries a last time, then leaves the file alone. */
		close() {
			if (retry) watch();
			clearInterval(retry);
			isClosed = true;
		},
	};

	function mend(pi: AgentSession): void {
		const { sessionManager } = pi;
		const file = sessionManager.getSessionFile();
		if (file === undefined) return;
		if (watched?.file !== file) watched = watchSessionFile(file);
		const { isSeen } = watched;
		const state = watched.look(fileEntriesOf(sessionManager));
		if (state.kind === "in-step" || state.kind === "unwritten") return;
		if (state.kind === "foreign") {
			if (pi.isStreaming && state.missing > 0) throw new Error("another program writes to it");
			leave(pi, file, state.entries > 0);
			return;
		}
		// Pi did not write this file itself: it must read it before it appends.
		if (!isSeen && pi.isStreaming) throw new Error("the run must end first");
		if (state.kind === "behind") {
			appendFileSync(file, state.rest);
			if (!isSeen) reopen(pi, file);
		} else {
			writeSessionFile(pi, file);
		}
		const after = watched.look(fileEntriesOf(sessionManager));
		if (after.kind !== "in-step") throw new Error("it still lacks entries");
	}

	/** Continues in a copy; the file belongs to the other program. */
	function leave(pi: AgentSession, file: string, isAnother: boolean): void {
		const what = isAnother
			? "Another program writes to the file of this session"
			: "The file of this session holds something that was not written whole";
		const isNew = reported !== file;
		reported = file;
		const { isStreaming } = pi;
		if (!isStreaming) {
			moveToCopy(pi);
			moved();
		}
		const who = isStreaming ? "At the end of the run the session" : "The session";
		const now = `${what}. ${who} goes on in a copy, with all that is its own.`;
		if (isNew) notify(now, "warning");
		if (!isStreaming) mend(pi);
	}
}

/** In file order, header first. */
function fileEntriesOf(manager: SessionManager): readonly FileEntry[] {
	// Pi's internal list, if present: `getEntries` copies, which is slow in a long session.
	const { fileEntries } = manager as unknown as { fileEntries?: unknown };
	if (Array.isArray(fileEntries)) return fileEntries;
	const header = manager.getHeader();
	return [...(header ? [header] : []), ...manager.getEntries()];
}

export function lastEntryOf(manager: SessionManager): string | undefined {
	const entries = fileEntriesOf(manager);
	return entries.length > 1 ? entries.at(-1)?.id : undefined;
}

/** Writes a missing or headerless file: pi waits for the first answer, a crash loses input. */
export function ensureSessionFile(session: AgentSession): void {
	const { sessionManager, isStreaming } = session;
	const file = sessionManager.getSessionFile();
	if (!file || !sessionManager.getHeader() || isStreaming || hasHeader(file)) return;
	writeSessionFile(session, file);
}

/** Atomic. Pi continues in the file at the same place. */
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

/** A run keeps its state: the file holds the same. */
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

function replaceFile(file: string, content: string, mode = 0o666): void {
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

/** `null` is before the first entry. */
export function moveTo(manager: SessionManager, leaf: string | null): void {
	if (leaf === null) manager.resetLeaf();
	else manager.branch(leaf);
}

/** Caches the session name: pi searches all entries at each change. */
export function rememberName(manager: SessionManager): void {
	const ask = manager.getSessionName.bind(manager);
	let known = { entries: [] as unknown[], count: 0, last: undefined as unknown, name: "" };
	manager.getSessionName = () => {
		const entries = property(manager, "fileEntries");
		if (!Array.isArray(entries)) return ask();
		// Pi appends, may remove the last entry, and uses a new array for another file.
		const isSame = known.entries === entries && entries[known.count - 1] === known.last;
		const later = isSame ? entries.slice(known.count) : entries;
		const info = later.findLast((entry) => property(entry, "type") === "session_info");
		const found = info ? property(info, "name") : isSame && known.name;
		const name = typeof found === "string" ? found.trim() : "";
		known = { entries, count: entries.length, last: entries.at(-1), name };
		// As in pi: an empty name removes the name.
		return name || undefined;
	};
}
