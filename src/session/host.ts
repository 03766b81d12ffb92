import type {
	AgentToolResult,
	ExtensionAPI,
	ExtensionContext,
	SessionStartEvent,
	TurnEndEvent,
	TurnEndEventResult,
} from "@earendil-works/pi-coding-agent";

/** The methods of pi that systems call. Systems never subscribe: `on` is not among them. */
export interface Host
	extends Pick<
		ExtensionAPI,
		| "registerTool"
		| "registerCommand"
		| "appendEntry"
		| "sendMessage"
		| "getThinkingLevel"
		| "getActiveTools"
		| "setActiveTools"
	> {
	/** Pi's folder for this user. */
	readonly agentDir: string;
	/** Pi's bounds for one answer of `read`. */
	readonly readLimits: { readonly maxLines: number; readonly maxBytes: number };
	/** Takes over pi's `read`, with pi's own schema, texts and renderers. `guidelines` join pi's in the system prompt. */
	ownRead(answer: AnswerRead, guidelines: readonly string[]): void;
	/** The extension that owns `read` instead of ours; `undefined` while it is ours. */
	otherReadOwner(): string | undefined;
	/** Shows a command's answer to the user; the model never sees it. */
	report(ctx: Pick<HostContext, "mode" | "ui">, text: string): void;
}

/** Where pi's events come from. Only the session's loop listens. */
export type HostEvents = Pick<ExtensionAPI, "on">;

/** What pi tells of a session at the moment of an event or a call. */
export type HostContext = Pick<
	ExtensionContext,
	| "cwd"
	| "sessionManager"
	| "modelRegistry"
	| "model"
	| "ui"
	| "mode"
	| "hasUI"
	| "signal"
	| "getContextUsage"
	| "hasPendingMessages"
>;

/** A call of the `read` tool. */
export interface ReadCall {
	toolCallId: string;
	path: string;
	offset?: number | undefined;
	limit?: number | undefined;
	signal?: AbortSignal | undefined;
}

/** What `read` answers. */
export type ReadAnswer = AgentToolResult<unknown>;

/** Pi's own read. With `bytes` it shows those instead of reading the file again. */
export type PlainRead = (call: ReadCall, bytes?: Buffer) => Promise<ReadAnswer>;

/** Answers a call of `read`, in place of pi or through it. */
export type AnswerRead = (
	call: ReadCall,
	ctx: HostContext,
	plain: PlainRead,
) => Promise<ReadAnswer>;

/** Why a session was opened: pi started, or a session was created, resumed, forked or reloaded. */
export type StartReason = SessionStartEvent["reason"];

/** The end of a turn as pi announces it. */
export type TurnEnd = TurnEndEvent;

/** An entry that a session takes in at the end of a turn: an edit of what the model sees, or a message. */
export type Draft = NonNullable<TurnEndEventResult["entries"]>[number];
