import type { Later } from "../../core/later.ts";
import type { Data, Response } from "../../protocol/index.ts";

/**
 * Records that survive the death of the process. The embedded journal answers questions at once; one in a
 * database answers with promises. Who asks must handle both in the same tick: see `core/later.ts`.
 */
export interface Journal {
	/** Sessions that this process holds from the start. */
	readonly recovered: Recovered;
	/** Whether changes can be made durable. `why` is for clients and contains no server paths. */
	health(): { ok: true } | { ok: false; why: string };
	/** Resolves when the record is on disk. After {@link JournalUnavailable}, do not run the command. */
	admit(command: AdmittedCommand): Promise<void>;
	/** Keeps the first outcome of an id. While the disk refuses an outcome, it is kept in memory. */
	finish(outcome: FinishedCommand): Promise<void>;
	/** Like `finish`, for reads: written with a later batch, and no caller waits. */
	note(outcome: FinishedCommand): void;
	saveSession(session: SessionRecord): Promise<void>;
	/** Takes effect immediately; resolves when on disk. The first owner stays. Old entries are evicted. */
	own(owner: Ownership): Promise<void>;
	disown(owner: Ownership): Promise<void>;
	/** Owners by conversation. Conversations without an owner are absent. Throws {@link JournalUnavailable}. */
	owners(conversations: readonly string[]): Later<ReadonlyMap<string, string>>;
	/** Whether another principal owns a conversation. Throws {@link JournalUnavailable}. */
	hasOtherOwner(principal: string): Later<boolean>;
	/**
	 * The commands with these names, in their order; also those that are not on disk yet. A key finds a finished
	 * command until {@link KEY_LIFE_MS} after it finished; repetitions are stored without the key. Questions of
	 * one tick share a round trip.
	 */
	find(names: readonly CommandName[]): Later<readonly (StoredCommand | undefined)[]>;
	/** The principal's commands from before this time may have been evicted. 0: none was evicted. */
	evictedBefore(principal: string): number;
	/** Resolves when the event survives the death of the process. If it rejects, the event is not stored. */
	append(event: StreamEvent): Promise<void>;
	/** Returns the events above `after`, in order: at most `limit`, or fewer if they are large. */
	events(stream: StreamName, after: number, limit: number): Later<StreamEvent[]>;
	/**
	 * Both are 0 without events. If all events are evicted, `first` is `last` + 1. Deleting the session adds
	 * 1 to `last`.
	 */
	extent(stream: StreamName): Later<{ first: number; last: number }>;
	/** The last event number of a session that this process holds. */
	lastSeq(stream: StreamName): number;
	/** Newest first. */
	commandHistory(query: CommandHistoryQuery): Later<CommandHistoryEntry[]>;
	/** Takes a session for this process, unless another one has it. Throws {@link JournalUnavailable}. */
	claim(name: StreamName, options?: ClaimOptions): Later<Claim>;
	/** Gives sessions up, so that another process can claim them at once. Their records must be written. */
	release(names: readonly StreamName[]): Promise<void>;
	/** Absent if this process has all sessions. */
	readonly unheld?: UnheldSessions;
	/** Called with sessions that another process has now: nothing of them can be recorded here any more. */
	onLost(listener: (names: readonly StreamName[]) => void): void;
	/** Absent if conversations are only in pi's files. */
	readonly conversations?: ConversationStore;
	stats(): JournalStats;
	close(): Promise<void>;
}

/** Thrown if the journal refuses a record. The message is for clients. */
export class JournalUnavailable extends Error {
	/** `busy`: backpressure, retry later. */
	readonly code: "journal_unavailable" | "busy";

	constructor(code: "journal_unavailable" | "busy", message: string) {
		super(message);
		this.code = code;
	}
}

/** Thrown for a record of a session that another process has now. The message is for clients. */
export class SessionLost extends Error {
	constructor() {
		super(
			"another server has this session now; repeat the command under the same id to learn its outcome",
		);
	}
}

/** Thrown by `admit` if another process used the id first. */
export class AlreadyKnown extends Error {
	readonly command: StoredCommand;

	constructor(command: StoredCommand) {
		super("the id of this command was used before");
		this.command = command;
	}
}

export interface ClaimOptions {
	/** Reserves the name of a session that does not exist yet. */
	readonly create?: true;
	/** Whether this process can run the session, for example because it has the folder. Default: it can. */
	readonly accepts?: ((record: SessionRecord) => boolean) | undefined;
}

export type Claim =
	/**
	 * `record` is absent if the name is only reserved. `isCutOff`: see {@link Recovered.cutOff}. `isOwn`: no other data
	 * folder's server had the session since this one's.
	 */
	| {
			readonly kind: "held";
			readonly version: number;
			readonly record?: SessionRecord;
			readonly isCutOff?: boolean;
			readonly isOwn?: boolean;
	  }
	/** There is no such session. With `create`: there is one. */
	| { readonly kind: "none" }
	| { readonly kind: "exists" }
	| { readonly kind: "elsewhere"; readonly address: string }
	| { readonly kind: "refused" };

/** Sessions that no process has: parked ones, and those of servers that ended. Reject with {@link JournalUnavailable}. */
export interface UnheldSessions {
	/** The newest {@link MAX_UNHELD} of a principal. */
	of(principal: string): Promise<SessionRecord[]>;
	/** All folders of sessions, of any principal, that are below a folder. */
	foldersBelow(folder: string): Promise<string[]>;
}

export interface Recovered {
	readonly sessions: readonly (SessionRecord & { version: number })[];
	/** Commands in flight when the last process died; each now has a stored failure. */
	readonly interrupted: readonly StoredCommand[];
	/** Streams whose last event left a run, compaction or dialog open. */
	readonly cutOff: readonly StreamName[];
	readonly crashed: boolean;
}

export interface SessionRecord {
	readonly principal: string;
	readonly id: string;
	readonly cwd: string;
	readonly file?: string;
	readonly createdAtMs: number;
	readonly settings: Record<string, unknown>;
}

export interface Ownership {
	readonly principal: string;
	readonly conversation: string;
}

export const KEY_LIFE_MS = 600_000;

export const MAX_UNHELD = 10_000;

export interface KeyScope {
	readonly principal: string;
	/** Absent for server commands. */
	readonly sessionId?: string | undefined;
}

/** The name of a command: its id, or the key it was sent with. */
export type CommandName =
	| { readonly principal: string; readonly id: string }
	| (KeyScope & { readonly key: string });

export interface AdmittedCommand {
	readonly principal: string;
	/** The command's id: given by the client, or generated (`anon:…`). */
	readonly id: string;
	readonly type: string;
	/** For a command that opens a session, set when it finishes. */
	readonly sessionId?: string;
	readonly fingerprint: string;
	readonly idempotencyKey?: string;
	/** Scope of the key; absent for server commands, even those about a session. */
	readonly keySessionId?: string;
	readonly atMs: number;
}

export interface FinishedCommand extends AdmittedCommand {
	/** Without `id` and `replayed`. */
	readonly response: Response;
	readonly json?: string;
	/** Digest of an answer that is too long to keep. `response` then has no data. */
	readonly digest?: string;
	readonly finishedAtMs: number;
	version?: number;
	/** A new session starts at version 0. */
	readonly session?: SessionRecord;
	/** Id of a deleted session; its version, events and keys of finished commands are deleted too. */
	removed?: string;
}

export interface StoredCommand
	extends AdmittedCommand,
		Partial<Pick<FinishedCommand, "response" | "finishedAtMs" | "digest">> {
	/** The disk refused the outcome: only this process knows it. */
	unsaved?: true;
	/** Another server has it in flight. */
	elsewhere?: true;
}

export interface StreamName {
	readonly principal: string;
	readonly sessionId: string;
}

export interface StreamEvent extends StreamName {
	/** 1, 2, 3 …; a number is missing only if its event was not stored. */
	readonly seq: number;
	readonly atMs: number;
	readonly body: string;
	/** A run, compaction or dialog is open after this event. Used only for {@link Recovered.cutOff}. */
	readonly inProgress?: true;
}

/** Entries of pi's session file in their order, each as JSON; the first is the header. */
export interface ConversationPart extends StreamName {
	/** Names the file's content: pi's id of the session. */
	readonly conversation: string;
	/** The number of the first entry. 0: these replace all that was kept. */
	readonly from: number;
	readonly bodies: readonly string[];
}

/** Conversations beside the journal, so that another server can go on with them. */
export interface ConversationStore {
	/** Written before records that come later. Rejects like `append`. */
	keep(part: ConversationPart): Promise<void>;
	/** All entries, or none. */
	entries(name: StreamName, conversation: string): Promise<string[]>;
}

export interface CommandHistoryQuery {
	readonly principal: string;
	readonly sessionId?: string;
	readonly commandId?: string;
	readonly fromMs?: number;
	readonly toMs?: number;
	readonly limit: number;
}

export type CommandHistoryEntry = Data<"CommandHistoryEntry">;

export function commandHistoryEntry(command: StoredCommand): CommandHistoryEntry {
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

/** Adds an `interrupted` failure to a command that has no outcome and no longer runs. */
export function interrupted(command: AdmittedCommand, finishedAtMs: number): StoredCommand {
	const response: Response = {
		type: "response",
		command: command.type,
		success: false,
		code: "interrupted",
		error:
			"the server stopped while this command was in flight; it may or may not have had an effect: check the session, then use a new id",
	};
	return { ...command, response, finishedAtMs };
}

export type JournalStats = Data<"ServerMetrics">["journal"];

const MEGABYTE = 2 ** 20;

export const DEFAULT_JOURNAL_LIMITS = {
	maxAgeMs: 14 * 24 * 60 * 60_000,
	maxBytes: 512 * MEGABYTE,
	/** Hard limit of the file. Above it, the journal refuses records as on a full disk. */
	maxFileBytes: 1_024 * MEGABYTE,
	/** High-water mark of records waiting for the disk. */
	pendingBytes: 64 * MEGABYTE,
	/** The data of a larger outcome is not stored. */
	outcomeBytes: MEGABYTE,
	/** Maximum number of owned conversations per principal. */
	maxOwned: 50_000,
	retryMs: 1_000,
	sweepMs: 60_000,
} as const;

export type JournalLimits = Record<keyof typeof DEFAULT_JOURNAL_LIMITS, number>;
