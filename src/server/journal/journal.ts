import type { ErrorCode, Response } from "../../protocol/index.ts";

/** What survives the death of the process. One per data folder. */
export interface Journal {
	/** What the journal held when it was opened. */
	readonly recovered: Recovered;
	/** Whether changing commands can be made durable; `why` is for the error they get otherwise, without server paths. */
	health(): { ok: true } | { ok: false; why: string };
	/**
	 * A changing command is about to run. Resolves when that is on disk: a command without a record here never had an
	 * effect, and one with a record but no outcome was interrupted. Rejects with {@link JournalUnavailable}, and the
	 * command must not run.
	 */
	admit(command: AdmittedCommand): Promise<void>;
	/**
	 * A command's outcome, with what it did to its session, in one transaction. Resolves when it is on disk. The first
	 * outcome of an id stays; a second one only changes the session. Rejects with {@link JournalUnavailable}; the outcome
	 * is remembered then, and written once the disk takes it.
	 */
	finish(outcome: FinishedCommand): Promise<void>;
	/** Like `finish`, for reads: written with the next batch, and nobody waits. */
	note(outcome: FinishedCommand): void;
	/** A change of a session outside any command (it was named by its model, changed its file …). Resolves when on disk. */
	saveSession(session: SessionRecord): Promise<void>;
	/**
	 * A conversation (what pi keeps in one session file, known by a text of its own) is the principal's from now on, unless
	 * it is somebody's. Counts at once; resolves when on disk. Of those of one principal, only the newest are remembered.
	 */
	own(owner: Ownership): Promise<void>;
	/** The principal no longer owns the conversation. */
	disown(owner: Ownership): Promise<void>;
	/** The principals that own these conversations; absent are those of nobody. Throws {@link JournalUnavailable}. */
	owners(conversations: readonly string[]): ReadonlyMap<string, string>;
	/** The command of that id, finished or interrupted or under way; also one that is not on disk yet. */
	byId(principal: string, id: string): StoredCommand | undefined;
	/**
	 * Commands of the principal that came before this time may have been forgotten to keep the journal in its bounds;
	 * 0 when none was. For the error about an id that is not known.
	 */
	forgottenBefore(principal: string): number;
	/**
	 * The command under that key, if it has finished less than {@link KEY_LIFE_MS} ago. Whoever answers another command with
	 * its outcome stores that one without the key, or the key would live longer.
	 */
	byKey(scope: KeyScope, key: string): StoredCommand | undefined;
	/**
	 * Keeps an event of a session's stream. Resolves when the death of the process can no longer lose it. Rejects with
	 * {@link JournalUnavailable}, and the event is not kept.
	 */
	append(event: StreamEvent): Promise<void>;
	/** Events with a sequence number above `after`, in order: at most `limit`, and fewer where they are large. */
	events(stream: StreamName, after: number, limit: number): StreamEvent[];
	/**
	 * The first and last sequence number still there; both 0 for a stream that never had events. Where all of them have
	 * been forgotten, `last` stays and `first` is the number after it. So it is when the session was removed, except that
	 * `last` is one higher then: whoever knows the old stream is behind the first event of the next one.
	 */
	extent(stream: StreamName): { first: number; last: number };
	/** Commands, newest first. */
	history(query: HistoryQuery): HistoryEntry[];
	stats(): JournalStats;
	/** Writes what is pending and closes. */
	close(): Promise<void>;
}

/** The journal does not take a record. The message is for clients. */
export class JournalUnavailable extends Error {
	/** `busy`: too much waits for the disk, try again soon. */
	readonly code: "journal_unavailable" | "busy";

	constructor(code: "journal_unavailable" | "busy", message: string) {
		super(message);
		this.code = code;
	}
}

export interface Recovered {
	readonly sessions: readonly (SessionRecord & { version: number })[];
	/** Commands that were under way when the last process died; each now has a stored failure. */
	readonly interrupted: readonly StoredCommand[];
	/** Streams whose last event left something under way. They stay so until an event is appended that does not. */
	readonly cutOff: readonly StreamName[];
	/** The last process did not close the journal. */
	readonly crashed: boolean;
}

/** What recreates a session, also one that pi has no file for yet. */
export interface SessionRecord {
	principal: string;
	id: string;
	cwd: string;
	/** Pi's session file, once there is one. */
	file?: string;
	createdAtMs: number;
	/** Name, model, thinking level and the like, as the sessions folder reads and writes them. */
	settings: Record<string, unknown>;
}

/** Whose a conversation is. */
export interface Ownership {
	principal: string;
	conversation: string;
}

/** How long after its completion a command is found by its idempotency key, in the journal as in memory. */
export const KEY_LIFE_MS = 600_000;

/** The scope of an idempotency key: a session, or the server's own commands. */
export interface KeyScope {
	principal: string;
	/** Absent for server commands. */
	sessionId?: string;
}

export interface AdmittedCommand {
	principal: string;
	/** The client's id, or one made up for it (`anon:…`). */
	id: string;
	type: string;
	/** The session it is about; of one that opened a session, known when it has ended. */
	sessionId?: string;
	fingerprint: string;
	idempotencyKey?: string;
	/** The session that scopes the key; absent for the key of a server command, also of one about a session. */
	keySessionId?: string;
	atMs: number;
}

export interface FinishedCommand extends AdmittedCommand {
	/** Without the identity of the request: no `id`, no `replayed`. */
	response: Response;
	/** The response as JSON, where somebody has written it already. */
	json?: string;
	/** Of an answer that is not kept: what tells it from another. `response` has no data then. */
	digest?: string;
	finishedAtMs: number;
	/** The session's version from now on; absent when it stays. */
	version?: number;
	/** A session's record from now on; a new session starts at version 0. */
	session?: SessionRecord;
	/** A session that is gone, with its version, its events and the keys of its commands, except those under way. */
	removed?: string;
}

export interface StoredCommand extends AdmittedCommand {
	/** Absent while it is under way. */
	response?: Response;
	finishedAtMs?: number;
	/** As it was given to {@link Journal.finish} or `note`. */
	digest?: string;
	/** The disk has refused its outcome, which is yet to be written: so far only this process knows of it. */
	owed?: true;
}

/** A session's stream of events. */
export interface StreamName {
	principal: string;
	sessionId: string;
}

export interface StreamEvent extends StreamName {
	/** 1, 2, 3 …, with a hole only where an event was not kept. */
	seq: number;
	atMs: number;
	/** The event as JSON. */
	body: string;
	/** Something has begun in the session that a later event will end. For {@link Recovered.cutOff}: it is not read back. */
	underWay?: true;
}

export interface HistoryQuery {
	principal: string;
	sessionId?: string;
	commandId?: string;
	fromMs?: number;
	toMs?: number;
	limit: number;
}

export interface HistoryEntry {
	commandId: string;
	commandType: string;
	sessionId?: string;
	atMs: number;
	finishedAtMs?: number;
	success?: boolean;
	error?: string;
	code?: ErrorCode;
	sessionVersion?: number;
}

export interface JournalStats {
	bytes: number;
	commands: number;
	events: number;
	sessions: number;
	/** Transactions so far, and what they took, for metrics. */
	commits: number;
	commitMsTotal: number;
	/** Records that wait for the next transaction. */
	pending: number;
}
