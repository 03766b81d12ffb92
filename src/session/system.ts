import type { MessageStartEvent, MessageUpdateEvent } from "@earendil-works/pi-coding-agent";
import type { Config, LoadedConfig } from "../core/config.ts";
import type { ExcludedValues } from "../core/excluded-values.ts";
import type { BilledRequest, CacheClock } from "./cache-clock.ts";
import type {
	Host,
	HostContext,
	NewEntry,
	PlainRead,
	ReadAnswer,
	ReadCall,
	StartReason,
	TurnEnd,
} from "./host.ts";
import type { CustomMessageItem, Ledger, ToolResultItem } from "./ledger.ts";
import type { PendingEdits } from "./pending-edits.ts";

/** One feature in a session. It owns its state, and gets pi's events only through these methods. */
export interface System {
	/** The name in the README: "read cache", "paging", … */
	readonly name: string;
	/** The state to show to the user. A system without this method is not listed. */
	status?(session: SessionView): { readonly on: boolean; readonly why: string };
	start?(session: SessionView, reason: StartReason): void | Promise<void>;
	/** Called at most once per `start`. */
	stop?(): void | Promise<void>;
	/** A line of the system prompt about the input that `read` accepts because of this system. */
	readonly readGuideline?: string;
	/** If it returns `undefined`, the call goes to the next system, and finally to pi. */
	read?(call: ReadCall, session: SessionView, plain: PlainRead): Promise<ReadAnswer | undefined>;
	/** Called when the user sends a prompt, before anything else happens. If it returns false, nothing is sent. */
	onInput?(input: UserInput, session: SessionView): Promise<boolean>;
	/** Called before a run, which since pi 1.5 can start without a prompt. Returns a message to add. */
	onPrompt?(prompt: string | undefined, session: SessionView): Promise<NewMessage | undefined>;
	/** Called when a run starts: for a prompt, a retry or queued messages. */
	onRunStart?(session: SessionView): void | Promise<void>;
	onRunEnd?(session: SessionView): void | Promise<void>;
	/** Returns the messages to send: the same array if nothing changes. */
	onRequest?(messages: RequestMessages, session: SessionView): Promise<RequestMessages>;
	/** `payload` is in the provider's form. Returns a replacement, or `undefined` to keep it. */
	onPayload?(payload: unknown, session: SessionView): unknown;
	onMessage?(session: SessionView): void;
	/** If it throws, the tool does not run. */
	onToolCall?(call: ToolCall, session: SessionView): Promise<void>;
	/** Called before any request contains the result. Returns the fields to change. */
	onToolResult?(
		result: ToolResult,
		session: SessionView,
	): Promise<ChangedResult | undefined> | undefined;
	/** An event of the provider's stream, as parsed. Only since pi 1.5. */
	onStreamEvent?(data: unknown, session: SessionView): void;
	/** What happens in a run, as it happens. Pi waits for the return, so it must take no time. */
	onProgress?(progress: Progress, session: () => SessionView): void;
	onAnswer?(answer: Answer, session: SessionView): void | Promise<void>;
	/** Returns entries to add. `turn.entries` holds the new entries of other systems and extensions. */
	onTurnEnd?(turn: TurnEnd, session: SessionView): Promise<NewEntry[]>;
	/** Called while the context is still whole. The compaction may fail. */
	onBeforeCompaction?(session: SessionView): void;
	onCompaction?(session: SessionView): void | Promise<void>;
	onBranch?(session: SessionView): void;
	returnedHash?(item: ToolResultItem): string | undefined;
	/** The files in a message: empty if the message is another system's, `undefined` if unknown. */
	shownBy?(message: CustomMessageItem): readonly ShownFile[] | undefined;
	/** Files in the last request that are not in the session; the same array until the next request. */
	shownInRequest?(): readonly ShownFile[] | undefined;
}

/** A session at one moment. Valid only during the call that receives it. */
export interface SessionView extends HostContext {
	readonly ledger: Ledger;
	readonly cache: CacheClock;
	readonly edits: PendingEdits;
	/** Tokens of the next request, if known, and the size of the model's window. */
	readonly window: { readonly tokens: number | undefined; readonly size: number };
	readonly config: Config;
	readonly loaded: LoadedConfig;
	/** Secret values, which must not be stored. */
	readonly values: ExcludedValues;
	/** Files that systems show outside tool results. */
	readonly shown: {
		shownBy(message: CustomMessageItem): readonly ShownFile[] | undefined;
		shownInRequest(): readonly ShownFile[];
	};
}

export interface Spine {
	readonly host: Host;
	readonly ledger: Ledger;
	readonly edits: PendingEdits;
	at(ctx: HostContext): SessionView;
}

export type SessionHolder = Pick<HostContext, "sessionManager">;

type RequestMessages = readonly { readonly role: string }[];

type NewMessage = Omit<Extract<NewEntry, { type: "custom_message" }>, "type">;

interface UserInput {
	readonly text: string;
	readonly hasImages: boolean;
	readonly isTyped: boolean;
}

interface ToolCall {
	readonly toolCallId: string;
	readonly toolName: string;
	readonly input: unknown;
}

interface ToolResult extends ToolCall {
	readonly content: unknown;
	readonly details: unknown;
	readonly isError: boolean;
}

interface ChangedResult {
	readonly content?: { type: "text"; text: string }[];
	readonly details?: unknown;
	/** Since pi 1.5: what scripts and interfaces get in place of the text. Dropped unless returned with `content`. */
	readonly structuredContent?: unknown;
}

/** `answer` is pi's own object, which grows while the model writes. `output` is all output so far. */
export type Progress =
	| { readonly kind: "run"; readonly isRunning: boolean }
	| { readonly kind: "answer"; readonly answer: PartialAnswer; readonly delta?: AnswerDelta }
	| { readonly kind: "answered" }
	| { readonly kind: "call"; readonly call: RunningCall; readonly output?: unknown }
	| {
			readonly kind: "called";
			readonly call: Omit<RunningCall, "args">;
			readonly ended: EndedResult;
	  };

export type PartialAnswer = Extract<MessageStartEvent["message"], { role: "assistant" }>;

export type AnswerDelta = MessageUpdateEvent["assistantMessageEvent"];

type RunningCall = Pick<ToolCall, "toolCallId" | "toolName"> & { readonly args: unknown };

/** A result as the model gets it. */
type EndedResult = Pick<ToolResult, "content" | "details" | "isError">;

interface Answer {
	readonly message: { readonly role: "assistant"; readonly stopReason: string };
	/** True if the request failed or was aborted: the model may not have seen it. */
	readonly failed: boolean;
	/** `undefined` if nothing was billed. */
	readonly billed: BilledRequest | undefined;
}

export interface ShownFile {
	/** The path as the message names it, relative to the working folder. */
	readonly path: string;
	/** `undefined` if the message only names the file. */
	readonly text: string | undefined;
}
