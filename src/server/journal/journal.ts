import type { Data, Response } from "../../protocol/index.ts";

/** What survives the death of the process. One per data folder. */
export interface Journal {
	readonly recovered: Recovered;
	/** Whether changing commands can be made durable; `why` is for clients, without server paths. */
	health(): { ok: true } | { ok: false; why: string };
	/**
	 * A changing command is about to run. Resolves when that is on disk: a command without a record never had an effect,
	 * one with a record but no outcome was interrupted. Rejects with {@link JournalUnavailable}: the command must not run.
	 */
	admit(command: AdmittedCommand): Promise<void>;
	/**
	 * A command's outcome, with what it did to its session, in one transaction. Resolves when it is on disk. The first
	 * outcome of an id stays; a second one only changes the session. After a rejection with {@link JournalUnavailable}
	 * the outcome stays in memory and is written when the disk recovers.
	 */
	finish(outcome: FinishedCommand): Promise<void>;
	/** Like `finish`, for reads: written with the next batch, in the background. */
	note(outcome: FinishedCommand): void;
	/** A change of a session outside any command. Resolves when it is on disk. */
	saveSession(session: SessionRecord): Promise<void>;
	/**
	 * A conversation (the content of one pi session file, known by a hash) belongs to the principal, unless it has an
	 * owner. Counts at once; resolves when on disk. Only the newest of each principal are kept.
	 */
	own(owner: Ownership): Promise<void>;
	disown(owner: Ownership): Promise<void>;
	/** The owners of these conversations; those without one are absent. Throws {@link JournalUnavailable}. */
	owners(conversations: readonly string[]): ReadonlyMap<string, string>;
	/** The command of that id, finished, interrupted or in flight; also one that is not on disk yet. */
	byId(principal: string, id: string): StoredCommand | undefined;
	/** Commands of the principal from before this time may have been evicted; 0 when none was. */
	forgottenBefore(principal: string): number;
	/** The command under that key, if it has finished less than {@link KEY_LIFE_MS} ago. Its aliases are stored without it. */
	byKey(scope: KeyScope, key: string): StoredCommand | undefined;
	/** Keeps an event. Resolves when the death of the process cannot lose it; after a rejection it is not kept. */
	append(event: StreamEvent): Promise<void>;
	/** Events with a sequence number above `after`, in order: at most `limit`, and fewer where they are large. */
	events(stream: StreamName, after: number, limit: number): StreamEvent[];
	/**
	 * The first and last sequence number still there; both 0 for a stream that never had events. Where all were evicted,
	 * `last` stays and `first` is the number after it. Removing the session adds one to `last`, so that a client of the
	 * old stream is behind the first event of the next one.
	 */
	extent(stream: StreamName): { first: number; last: number };
	/** Commands, newest first. */
	history(query: HistoryQuery): HistoryEntry[];
	stats(): JournalStats;
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
	/** Commands in flight when the last process died; each now has a stored failure. */
	readonly interrupted: readonly StoredCommand[];
	/** Streams whose last event left a run open. */
	readonly cutOff: readonly StreamName[];
	readonly crashed: boolean;
}

/** What recreates a session, also one that pi has no file for yet. */
export interface SessionRecord {
	principal: string;
	id: string;
	cwd: string;
	file?: string;
	createdAtMs: number;
	/** Name, model, thinking level and the like: see `StoredSettings` of the sessions. */
	settings: Record<string, unknown>;
}

export interface Ownership {
	principal: string;
	conversation: string;
}

/** How long after its completion a command is found by its idempotency key. */
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
	/** The response as JSON, if it was serialised before. */
	json?: string;
	/** Of an answer that is not kept: what tells it from another. `response` has no data then. */
	digest?: string;
	finishedAtMs: number;
	/** The session's version from now on; absent when it stays. */
	version?: number;
	/** A session's record from now on; a new session starts at version 0. */
	session?: SessionRecord;
	/** A session that is gone, with its version, its events and the keys of its finished commands. */
	removed?: string;
}

export interface StoredCommand extends AdmittedCommand {
	/** Absent while it is in flight. */
	response?: Response;
	finishedAtMs?: number;
	digest?: string;
	/** The disk has refused its outcome: so far only this process knows of it. */
	owed?: true;
}

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
	/** A later event will end what has begun. For {@link Recovered.cutOff}: it is not read back. */
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

export type HistoryEntry = Data<"CommandHistoryEntry">;

export function historyEntry(command: StoredCommand): HistoryEntry {
	const { id, type, sessionId, atMs, finishedAtMs, response } = command;
	const { success, error, code, sessionVersion } = response ?? {};
	return {
		commandId: id,
		commandType: type,
		...(sessionId !== undefined && { sessionId }),
		atMs,
		...(finishedAtMs !== undefined && { finishedAtMs }),
		...(success !== undefined && { success }),
		...(error !== undefined && { error }),
		...(code !== undefined && { code }),
		...(sessionVersion !== undefined && { sessionVersion }),
	};
}

/** A command without an outcome that no living process works on. */
export function interrupted(command: AdmittedCommand, finishedAtMs: number): StoredCommand {
	const response: Response = {
		type: "response",
		command: command.type,
		success: false,
		code: "interrupted",
		error:
			"the server stopped while this command was under way; it may or may not have had an effect: look at the session, then use a new id",
	};
	return { ...command, response, finishedAtMs };
}

export interface JournalStats {
	bytes: number;
	commands: number;
	events: number;
	sessions: number;
	/** Transactions so far, and what they took, for metrics. */
	commits: number;
	commitMsTotal: number;
	pending: number;
}

export interface JournalLimits {
	/** Older commands and events are evicted. */
	maxAgeMs: number;
	/** Above this, the oldest are evicted. */
	maxBytes: number;
	/** Hard limit of the file: where eviction does not keep up, the journal refuses as on a full disk. */
	maxFileBytes: number;
	/** Records that wait for the disk. */
	pendingBytes: number;
	/** A larger outcome is not kept. */
	outcomeBytes: number;
	/** Conversations of one principal whose owner is known. */
	maxOwned: number;
	/** How often a journal that refuses tries again. */
	retryMs: number;
	sweepMs: number;
}

const MEGABYTE = 2 ** 20;

export const defaultJournalLimits: Readonly<JournalLimits> = {
	maxAgeMs: 14 * 24 * 60 * 60_000,
	maxBytes: 512 * MEGABYTE,
	maxFileBytes: 1_024 * MEGABYTE,
	pendingBytes: 64 * MEGABYTE,
	outcomeBytes: MEGABYTE,
	maxOwned: 50_000,
	retryMs: 1_000,
	sweepMs: 60_000,
};
