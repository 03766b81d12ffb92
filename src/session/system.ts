import type { Bill } from "../core/bill.ts";
import type { Config, LoadedConfig } from "../core/config.ts";
import type { ExcludedValues } from "../core/excluded-values.ts";
import type { CacheClock, SentRequest } from "./cache-clock.ts";
import type {
	Draft,
	Host,
	HostContext,
	PlainRead,
	ReadAnswer,
	ReadCall,
	StartReason,
	TurnEnd,
} from "./host.ts";
import type { CustomMessageItem, Ledger, ToolResultItem } from "./ledger.ts";
import type { PendingEdits } from "./pending-edits.ts";

/**
 * One of the systems that a session asks, in the order of their list. It owns its state; pi's events reach it through
 * these methods only. What it throws is shown by pi and stops no other system.
 */
export interface System {
	/** As in the README: "read cache", "paging", … */
	readonly name: string;
	/** On or off, and why, in words for the user. A system without it is not listed. */
	status?(session: SessionView): Status;
	/** A session was opened; before its first prompt. */
	start?(session: SessionView, reason: StartReason): void | Promise<void>;
	/** Closes whatever `start` or later use opened. Called at most once per `start`. */
	stop?(): void | Promise<void>;
	/** A line for the system prompt on what `read` takes because of this system. */
	readonly readGuideline?: string;
	/** Answers a call of `read`, or leaves it to the next system, and at last to pi. */
	read?(call: ReadCall, session: SessionView, plain: PlainRead): Promise<ReadAnswer | undefined>;
	/** A prompt is about to start a run; since pi 1.5 a run can start without one. Returns a message that joins it. */
	onPrompt?(
		prompt: string | undefined,
		session: SessionView,
	): Promise<ContextMessageDraft | undefined>;
	/** Pi's loop starts: for a prompt, or to retry. */
	onRunStart?(session: SessionView): void | Promise<void>;
	onRunEnd?(session: SessionView): void;
	/** A request is being built. Returns its messages: the same array if nothing changes. */
	onRequest?(
		messages: readonly RequestMessage[],
		session: SessionView,
	): Promise<readonly RequestMessage[]>;
	/** A request leaves, in the provider's own form. Returns what is sent instead; `undefined` for the same. */
	onPayload?(payload: unknown, session: SessionView): unknown;
	/** A message begins: the user's, a tool's, or the model's answer as it streams in. */
	onMessage?(session: SessionView): void;
	/** A tool is about to run. What this throws stops the tool. */
	onToolCall?(call: ToolCall, session: SessionView): Promise<void>;
	/** A result at birth: no request has held it. Returns the fields that change. */
	onToolResult?(
		result: ToolResult,
		session: SessionView,
	): Promise<ChangedResult | undefined> | undefined;
	/** An answer is complete. */
	onAnswer?(answer: Answer, session: SessionView): void | Promise<void>;
	/** Entries for the session at the end of a turn. `turn.entries` holds what other systems and extensions drafted. */
	onTurnEnd?(turn: TurnEnd, session: SessionView): Promise<Draft[]>;
	/** The conversation was compacted. */
	onCompaction?(session: SessionView): void | Promise<void>;
	/** The user went to another branch. */
	onBranch?(session: SessionView): void;
	/** The hash of the text that a tool returned, where this system noted it. */
	returnedHash?(item: ToolResultItem): string | undefined;
	/** The files that a message of this system shows; none of another's, `undefined` where it cannot be told. */
	shownBy?(message: CustomMessageItem): readonly ShownFile[] | undefined;
	/** The files that the last request shows and the session does not; the same array until the next request. */
	shownBeside?(): readonly ShownFile[] | undefined;
}

/** What systems see of a session at one moment. It is valid during the call that it was handed to. */
export interface SessionView extends HostContext {
	/** What the model can see. One for all systems; the session feeds it. */
	readonly ledger: Ledger;
	/** The provider's cache: cold or warm, why, its rules, the last bill. */
	readonly cache: CacheClock;
	/** What requests show and the session does not have yet. */
	readonly edits: PendingEdits;
	/** The size of the next request as far as known, and the model's window. */
	readonly window: { readonly tokens: number | undefined; readonly size: number };
	readonly config: Config;
	/** Where the configuration comes from. */
	readonly loaded: LoadedConfig;
	/** What must not be stored. */
	readonly values: ExcludedValues;
	/** What systems show of files, besides results of tools. */
	readonly shown: {
		shownBy(message: CustomMessageItem): readonly ShownFile[] | undefined;
		shownBeside(): readonly ShownFile[];
	};
}

/** What a system is made with. */
export interface Spine {
	readonly host: Host;
	readonly ledger: Ledger;
	readonly edits: PendingEdits;
	/** The session at the moment of a tool's or command's call. */
	at(ctx: HostContext): SessionView;
}

/** Whether a system is on, and why. */
export interface Status {
	readonly on: boolean;
	readonly why: string;
}

/** The part of pi's context that a look at the session itself needs. */
export type SessionHolder = Pick<HostContext, "sessionManager">;

/** A message of a request, in pi's form. */
export interface RequestMessage {
	readonly role: string;
}

/** A message that a system puts into the session. */
export type ContextMessageDraft = Omit<Extract<Draft, { type: "custom_message" }>, "type">;

/** A call of a tool, before it runs. */
export interface ToolCall {
	readonly toolCallId: string;
	readonly toolName: string;
	readonly input: unknown;
}

/** What a tool returned. */
export interface ToolResult extends ToolCall {
	readonly content: unknown;
	readonly details: unknown;
	readonly isError: boolean;
}

/** The fields of a result that a system changes. */
export interface ChangedResult {
	readonly details?: unknown;
}

/** A complete answer of the model. */
export interface Answer {
	readonly message: { readonly role: "assistant"; readonly stopReason: string };
	/** It failed or was aborted: the model's side of the request may not count. */
	readonly failed: boolean;
	/** The bill and the request that it is for; `undefined` if nothing was billed. */
	readonly billed: { readonly bill: Bill; readonly request: SentRequest } | undefined;
}

/** A file that a message shows as a whole. */
export interface ShownFile {
	/** As the message calls it, from the working folder. */
	readonly path: string;
	/** `undefined` when the message speaks of the file without showing it. */
	readonly text: string | undefined;
}
