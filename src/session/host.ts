import type {
	AgentToolResult,
	ExtensionAPI,
	ExtensionContext,
	SessionStartEvent,
	TurnEndEvent,
	TurnEndEventResult,
} from "@earendil-works/pi-coding-agent";

/** The methods of pi that systems call. `on` is left out, since only the session loop subscribes. */
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
	readonly agentDir: string;
	readonly readLimits: { readonly maxLines: number; readonly maxBytes: number };
	/** Replaces pi's `read` tool. `guidelines` are added to pi's own in the system prompt. */
	ownRead(answer: OwnRead, guidelines: readonly string[]): void;
	/** The other extension that owns `read`; `undefined` if ours does. */
	otherReadOwner(): string | undefined;
	/** Shows text to the user; the model never sees it. */
	report(ctx: Pick<HostContext, "mode" | "ui">, text: string): void;
}

export type HostEvents = Pick<ExtensionAPI, "on">;

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
	| "compact"
>;

export interface ReadCall {
	readonly toolCallId: string;
	readonly path: string;
	readonly offset?: number | undefined;
	readonly limit?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}

export type ReadAnswer = AgentToolResult<unknown>;

/** Pi's own read. If `bytes` is given, the file is not read again. */
export type PlainRead = (call: ReadCall, bytes?: Buffer) => Promise<ReadAnswer>;

export type OwnRead = (call: ReadCall, ctx: HostContext, plain: PlainRead) => Promise<ReadAnswer>;

export type StartReason = SessionStartEvent["reason"];

export type TurnEnd = TurnEndEvent;

/** An entry to add at the end of a turn: a context edit or a message. */
export type NewEntry = NonNullable<TurnEndEventResult["entries"]>[number];
