import type { Response } from "../../protocol/index.ts";
import type {
	AdmittedCommand,
	ConversationPart,
	FinishedCommand,
	JournalLimits,
	Ownership,
	Recovered,
	SessionRecord,
	StreamEvent,
} from "./journal.ts";
import type { Refusal } from "./refusal.ts";

export type JournalRecord =
	| { kind: "admit"; command: AdmittedCommand }
	| {
			kind: "outcome";
			command: AdmittedCommand & Pick<FinishedCommand, "finishedAtMs" | "digest">;
			changing: boolean;
			outcome: string;
			response: Omit<Response, "data">;
			version: number | undefined;
			session: SessionColumns | undefined;
			/** The next session with this id numbers its events from `last` + 1. */
			removed: { sessionId: string; last: number } | undefined;
	  }
	| { kind: "session"; session: SessionColumns }
	| ({ kind: "owner" } & OwnerChange)
	| { kind: "event"; event: StreamEvent }
	/** Entries of a conversation, from number `from` on. Only a database keeps them. */
	| ({ kind: "entries" } & ConversationPart);

export type OwnerChange = Ownership & { owns: boolean };

export type SessionColumns = Omit<SessionRecord, "settings"> & { settings: string };

/** Each job gets one reply, in order. */
export type WriterJob =
	| {
			kind: "open";
			path: string;
			nowMs: number;
			maxFileBytes: number;
			// `settle`: the first open, at the start. `only-empty`: the first open, if the start could not open
			// the file; refuses a file with content. `continue`: every later open.
			recovery: "settle" | "only-empty" | "continue";
	  }
	/** `durable`: the write waits for the disk. A job without records probes the disk. */
	| { kind: "write"; records: JournalRecord[]; durable: boolean }
	| ({ kind: "sweep"; olderThanMs: number } & Pick<JournalLimits, "maxBytes" | "maxOwned">)
	| { kind: "close" };

export type WriterReply =
	| {
			kind: "opened";
			recovered: Recovered;
			evicted: EvictionMark[];
			size: JournalSize;
			refusal?: Refusal;
	  }
	/** `refused`: records that were not written, by index, with the error for their callers. */
	| { kind: "written"; size: JournalSize; ms: number; refused?: ReadonlyMap<number, Error> }
	| { kind: "swept"; size: JournalSize; evicted: EvictionMark[]; more: boolean }
	| { kind: "closed" }
	| { kind: "refused"; refusal: Refusal }
	/** The record at `index` can never be written; nothing of its batch was written. */
	| { kind: "bad-record"; index: number; why: string };

export type Reply<Kind extends WriterReply["kind"]> = WriterReply & { kind: Kind };

export interface EvictionMark {
	readonly principal: string;
	readonly before: number;
}

export interface JournalSize {
	readonly fileBytes: number;
	readonly usedBytes: number;
	commands: number;
	events: number;
	sessions: number;
}
