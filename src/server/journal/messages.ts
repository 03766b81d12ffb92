import type { Data } from "../../protocol/index.ts";
import type {
	AdmittedCommand,
	FinishedCommand,
	Ownership,
	Recovered,
	SessionRecord,
	StreamEvent,
} from "./journal.ts";
import type { Refusal } from "./refusal.ts";
import type { KeepUntil } from "./retention.ts";

/** One thing to write, for a message to the thread. */
export type JournalRecord =
	| { kind: "admit"; command: AdmittedCommand }
	| {
			kind: "outcome";
			command: AdmittedCommand & Pick<FinishedCommand, "finishedAtMs" | "digest">;
			changing: boolean;
			/** The response as JSON, and what the history shows of it. */
			outcome: string;
			success: boolean;
			error: string | undefined;
			code: Data<"ErrorCode"> | undefined;
			sessionVersion: number | undefined;
			version: number | undefined;
			session: SessionColumns | undefined;
			/** The next session of this id continues after `last`. */
			removed: { sessionId: string; last: number } | undefined;
	  }
	| { kind: "session"; session: SessionColumns }
	| ({ kind: "owner" } & OwnerChange)
	| { kind: "event"; event: StreamEvent };

/** A principal takes a conversation without an owner, or releases its own. */
export interface OwnerChange extends Ownership {
	owns: boolean;
}

export type SessionColumns = Omit<SessionRecord, "settings"> & { settings: string };

/** To the thread: one reply each, in order. */
export type WriterRequest =
	| {
			kind: "open";
			path: string;
			nowMs: number;
			maxFileBytes: number;
			/**
			 * `settle`: the first of this process: commands in flight become interrupted. `only-empty`: the same, later, and
			 * refused when it holds anything. `continue`: the journal was open before in this process.
			 */
			recovery: "settle" | "only-empty" | "continue";
	  }
	/** One transaction; `durable` waits for the disk itself. Without records it probes the disk. */
	| { kind: "write"; records: JournalRecord[]; durable: boolean }
	/** One small step of eviction; the last one checkpoints the log. */
	| ({ kind: "sweep" } & KeepUntil)
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

/** Commands of the principal up to this time may have been evicted. */
export interface ForgottenMark {
	principal: string;
	before: number;
}

export interface JournalSize {
	fileBytes: number;
	/** The part of the file that is in use. */
	usedBytes: number;
	commands: number;
	events: number;
	sessions: number;
}
