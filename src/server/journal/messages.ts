import type { ErrorCode } from "../../protocol/index.ts";
import type { AdmittedCommand, Ownership, Recovered, StreamEvent } from "./journal.ts";
import type { Refusal } from "./refusal.ts";

/** One thing to write. Plain texts and numbers only, so that any of it can be sent to a thread. */
export type JournalRecord =
	| { kind: "admit"; command: AdmittedCommand }
	| {
			kind: "outcome";
			command: AdmittedCommand;
			changing: boolean;
			finishedAtMs: number;
			/** The response as JSON, and what the history shows of it. */
			outcome: string;
			digest: string | undefined;
			success: boolean;
			error: string | undefined;
			code: ErrorCode | undefined;
			sessionVersion: number | undefined;
			/** What became of the session. */
			version: number | undefined;
			session: SessionColumns | undefined;
			removed: RemovedColumns | undefined;
	  }
	| { kind: "session"; session: SessionColumns }
	| ({ kind: "owner" } & OwnerChange)
	| { kind: "event"; event: StreamEvent };

/** A principal takes a conversation that is nobody's, or gives up its own. */
export interface OwnerChange extends Ownership {
	owns: boolean;
}

/** A session that is gone, and the number that its stream ends with; the next session of this id goes on from there. */
export interface RemovedColumns {
	sessionId: string;
	last: number;
}

/** A session's record with its settings as JSON. */
export interface SessionColumns {
	principal: string;
	id: string;
	cwd: string;
	file: string | undefined;
	createdAtMs: number;
	settings: string;
}

/** To the thread, which answers one request after the other with one reply each. */
export type WriterRequest =
	| {
			kind: "open";
			path: string;
			nowMs: number;
			maxFileBytes: number;
			/**
			 * `settle`: the first of this process: commands under way become interrupted. `only-empty`: the same, later, and
			 * refused when there is anything in it. `continue`: the journal was open before in this process.
			 */
			recovery: "settle" | "only-empty" | "continue";
	  }
	/** One transaction; `durable` waits for the disk itself. Without records it finds out whether the disk takes any. */
	| { kind: "write"; records: JournalRecord[]; durable: boolean }
	/** One small step of forgetting; the last one folds the log into the file. */
	| { kind: "sweep"; olderThanMs: number; maxBytes: number; maxOwned: number }
	| { kind: "close" };

export type WriterReply =
	| {
			kind: "opened";
			recovered: Recovered;
			forgotten: ForgottenMark[];
			size: JournalSize;
			/** Why the recovery could not be written, though it could be read. */
			refusal?: Refusal;
	  }
	| { kind: "written"; size: JournalSize; ms: number }
	| { kind: "swept"; size: JournalSize; forgotten: ForgottenMark[]; more: boolean }
	| { kind: "closed" }
	| { kind: "refused"; refusal: Refusal }
	/** The record at this place cannot be written, whatever the disk; nothing of the batch was. */
	| { kind: "bad-record"; index: number; why: string };

/** Commands of the principal up to this time may be forgotten. */
export interface ForgottenMark {
	principal: string;
	before: number;
}

/** How large the journal is. */
export interface JournalSize {
	/** The file, and the part of it that is in use. */
	fileBytes: number;
	usedBytes: number;
	commands: number;
	events: number;
	sessions: number;
}
