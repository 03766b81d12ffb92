import {
	closeSync,
	mkdirSync,
	openSync,
	readSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type AgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
import { temporaryName } from "../../core/atomic-file.ts";
import { errnoOf } from "../../core/errno.ts";
import { type FileEntry, linesOfEntries } from "../../core/session-file-watch.ts";
import { CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";
import { ownPlace } from "./own-place.ts";
import { sessionFolder } from "./session-files.ts";
import type { StoredSettings } from "./stored-settings.ts";

export interface SessionFileOptions {
	readonly agentDir: string;
	readonly cwd: string;
	/** Pi's file to go on with; without one the session is made from `settings`. */
	readonly file?: string;
	readonly settings: StoredSettings;
	/** The process before did not end by itself: the file may hold more of its work than the record says. */
	readonly wasCutOff?: boolean;
}

/** A session that was opened, and what there is to say about its file. */
export interface OpenedFile {
	readonly manager: SessionManager;
	/** Where the session is in its tree, if it is not behind the last entry. */
	readonly leaf?: NonNullable<StoredSettings["leaf"]>;
	readonly warning?: string;
}

/** Opens a session in pi's file of it, at the place in its tree where it was left. */
export function openSessionFile(options: SessionFileOptions): OpenedFile {
	const { agentDir, cwd, file, settings, wasCutOff = false } = options;
	const folder = sessionFolder(agentDir, cwd);
	const { piSessionId: id } = settings;
	// A process that died may have written the file and not the record.
	const found = file ?? (id && SessionManager.findById(cwd, id, folder));
	if (!found) return { manager: SessionManager.create(cwd, folder, { ...(id && { id }) }) };
	const manager = openWhole(found, folder, options);
	const { leaf, warning } = ownPlace(manager.getEntries(), settings, wasCutOff);
	const afterEntry = lastEntryOf(manager);
	if (leaf !== undefined) moveTo(manager, leaf);
	return {
		manager,
		...(leaf !== undefined && afterEntry && { leaf: { id: leaf, afterEntry } }),
		...(warning && { warning }),
	};
}

/** Pi would put a new session into an empty file, and clients would not learn what was lost. */
function openWhole(
	file: string,
	folder: string,
	{ cwd, settings }: SessionFileOptions,
): SessionManager {
	try {
		if (statSync(file).size === 0) throw new Error("The file of the session is empty (0 bytes)");
		return SessionManager.open(file, folder, cwd);
	} catch (error) {
		if (error instanceof Error && "syscall" in error) {
			const now = `The session's file cannot be opened now (${safeText(error)}): try again later`;
			throw new CommandError("wrong_state", now, { cause: error });
		}
		const { messageCount } = settings;
		const lost = messageCount ? `Its ${messageCount} messages` : "What it held";
		throw new CommandError(
			"wrong_state",
			`${safeText(error)}. ${lost} cannot be read: restore the file, or delete the session`,
			{ cause: error },
		);
	}
}

/** Goes on from another place in the tree; `null` is before its first entry. */
function moveTo(manager: SessionManager, leaf: string | null): void {
	if (leaf === null) manager.resetLeaf();
	else manager.branch(leaf);
}

/** All that pi holds of a session, in the order of its file, the header first. */
export function fileEntriesOf(manager: SessionManager): readonly FileEntry[] {
	// Pi's own list, where it is still there: `getEntries` copies it, which a change in a long session must not pay for.
	const { fileEntries } = manager as unknown as { fileEntries?: unknown };
	if (Array.isArray(fileEntries)) return fileEntries;
	const header = manager.getHeader();
	return [...(header ? [header] : []), ...manager.getEntries()];
}

/** The entry that is last in the file; a header is none. */
export function lastEntryOf(manager: SessionManager): string | undefined {
	const entries = fileEntriesOf(manager);
	return entries.length > 1 ? entries.at(-1)?.id : undefined;
}

/**
 * Writes pi's file of a session if there is none: pi does so with the first answer (or the first message, by version), and
 * a process that dies before loses what the user said. Once there is a file, pi adds every entry to it at once; if somebody
 * has deleted it, to one that lacks all before, so such a file is written again too.
 */
export function ensureSessionFile(session: AgentSession): void {
	const { sessionManager } = session;
	const file = sessionManager.getSessionFile();
	const header = sessionManager.getHeader();
	if (!file || !header || session.isStreaming || hasHeader(file)) return;
	writeSessionFile(session, file);
}

/** Writes all that pi holds of a session to a file, whole or not at all, and has pi go on in it, at the same place. */
export function writeSessionFile(
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

/** Has pi read its file again and go on at the same place. A run goes on with what it has: the file holds the same. */
export function reopen(session: AgentSession, file: string): void {
	const { sessionManager } = session;
	if (session.isStreaming && sessionManager.getSessionFile() === file) return;
	const leaf = sessionManager.getLeafId();
	sessionManager.setSessionFile(file);
	moveTo(sessionManager, leaf);
	session.refreshContext();
}

/**
 * Puts a session into a file of its own, with all that pi holds of it. The old file stays as it is. Returns the new one.
 */
export function moveToCopy(session: AgentSession): string {
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
	return file;
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
		const file = openSync(path, "r");
		try {
			const start = Buffer.alloc(HEADER.length);
			readSync(file, start);
			return start.toString() === HEADER;
		} finally {
			closeSync(file);
		}
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return false;
		throw error;
	}
}
