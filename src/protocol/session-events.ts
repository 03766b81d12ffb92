import Type, { type TProperties } from "typebox";
import { numberFields, oneOf, QueuedMessages, ThinkingLevel } from "./field-schemas.ts";
import { AgentMessage, CompactionResult, SessionEntry, Usage } from "./pi-shapes.ts";

const Index = { contentIndex: Type.Number() };

/** Deltas only: `message_start` precedes them, `message_end` has the whole message. */
export const AssistantMessageEvent = Type.Union([
	event("start", {}),
	event("text_start", Index),
	event("text_delta", { ...Index, delta: Type.String() }),
	event("text_end", { ...Index, content: Type.Optional(Type.String()) }),
	event("thinking_start", Index),
	event("thinking_delta", { ...Index, delta: Type.String() }),
	event("thinking_end", { ...Index, content: Type.Optional(Type.String()) }),
	event("toolcall_start", { ...Index, id: Type.String(), toolName: Type.String() }),
	event("toolcall_delta", { ...Index, delta: Type.String() }),
	event("toolcall_end", { ...Index, toolCall: Type.Optional(Type.Unknown()) }),
	event("done", { reason: Type.String(), message: Type.Optional(AgentMessage) }),
	event("error", { reason: Type.String(), error: Type.Optional(AgentMessage) }),
]);

const CompactionReason = oneOf("manual", "threshold", "overflow");
const Retry = { ...numberFields("attempt", "maxAttempts", "delayMs"), errorMessage: Type.String() };
const Aborted = { aborted: Type.Optional(Type.Literal(true)) };
const Call = { toolCallId: Type.String(), toolName: Type.String() };
/** When it happened, in ms since 1970: clients may get the event later. */
const At = { atMs: Type.Optional(Type.Number()) };
const Dialog = {
	/** The answer repeats this id in `extension_ui_response`. */
	requestId: Type.String(),
	/** Milliseconds until the dialog counts as cancelled. */
	timeout: Type.Optional(Type.Number()),
};

/** `select`, `confirm`, `input` and `editor` wait for an answer. */
export const ExtensionUiRequest = Type.Union([
	dialog("select", { title: Type.String(), options: Type.Array(Type.String()) }),
	dialog("confirm", { title: Type.String(), message: Type.String() }),
	dialog("input", { title: Type.String(), placeholder: Type.Optional(Type.String()) }),
	dialog("editor", { title: Type.String(), prefill: Type.Optional(Type.String()) }),
	dialog("notify", {
		message: Type.String(),
		notifyType: Type.Optional(oneOf("info", "warning", "error")),
	}),
	dialog("setStatus", { statusKey: Type.String(), statusText: Type.Optional(Type.String()) }),
	dialog("setWidget", {
		widgetKey: Type.String(),
		widgetLines: Type.Optional(Type.Array(Type.String())),
		widgetPlacement: Type.Optional(oneOf("aboveEditor", "belowEditor")),
	}),
	dialog("setTitle", { title: Type.String() }),
	dialog("setWorkingMessage", { message: Type.Optional(Type.String()) }),
	dialog("set_editor_text", { text: Type.String() }),
]);

/** An event of a session, from pi (with deltas) or from the server (about dialogs). Ignore unknown types. */
export const SessionEvent = Type.Union([
	event("agent_start", {}),
	event("agent_end", {
		/** Empty, because `message_end` has already sent the messages. */
		messages: Type.Optional(Type.Array(AgentMessage)),
		messageCount: Type.Optional(Type.Number()),
		...Aborted,
		willRetry: Type.Optional(Type.Boolean()),
	}),
	event("agent_settled", {
		...Aborted,
		/** The server crashed. Everything in progress ended without its end event. */
		interrupted: Type.Optional(Type.Literal(true)),
	}),
	event("turn_start", {}),
	event("turn_end", {
		message: Type.Optional(AgentMessage),
		toolResults: Type.Optional(Type.Array(AgentMessage)),
	}),
	event("message_start", { message: AgentMessage }),
	event("message_update", {
		usage: Type.Optional(Usage),
		assistantMessageEvent: AssistantMessageEvent,
	}),
	event("message_end", { message: AgentMessage, ...Aborted }),
	event("tool_execution_start", { ...Call, args: Type.Unknown(), ...At }),
	event("tool_execution_update", { ...Call, args: Type.Unknown(), partialResult: Type.Unknown() }),
	event("tool_execution_end", {
		...Call,
		result: Type.Unknown(),
		isError: Type.Boolean(),
		...At,
	}),
	event("bash_execution_update", { id: Type.Optional(Type.String()), delta: Type.String() }),
	event("queue_update", QueuedMessages),
	event("entry_appended", { entry: SessionEntry }),
	event("session_info_changed", { name: Type.Optional(Type.String()) }),
	event("thinking_level_changed", { level: ThinkingLevel }),
	event("compaction_start", { reason: CompactionReason }),
	event("compaction_end", {
		reason: CompactionReason,
		result: Type.Optional(CompactionResult),
		aborted: Type.Boolean(),
		willRetry: Type.Boolean(),
		errorMessage: Type.Optional(Type.String()),
	}),
	event("auto_retry_start", Retry),
	event("auto_retry_end", {
		success: Type.Boolean(),
		attempt: Type.Number(),
		finalError: Type.Optional(Type.String()),
	}),
	event("summarization_retry_scheduled", Retry),
	event("summarization_retry_attempt_start", {
		source: oneOf("branchSummary", "compaction"),
		reason: Type.Optional(CompactionReason),
	}),
	event("summarization_retry_finished", {}),
	event("extension_error", {
		extensionPath: Type.Optional(Type.String()),
		event: Type.Optional(Type.String()),
		error: Type.String(),
	}),
	...ExtensionUiRequest.anyOf,
	/** The dialog was answered by the first client to respond, timed out or was aborted. */
	event("extension_ui_closed", {
		requestId: Type.String(),
		reason: oneOf("answered", "timeout", "aborted"),
	}),
	/** The id now belongs to another pi session: reload state and messages. */
	event("session_replaced", {
		reason: oneOf("new", "switch", "fork", "clone", "reload"),
		sessionFile: Type.Optional(Type.String()),
	}),
]);
export type SessionEvent = Type.Static<typeof SessionEvent>;

function event<Name extends string, Fields extends TProperties>(type: Name, fields: Fields) {
	return Type.Object({
		type: Type.Literal(type),
		...fields,
		truncated: Type.Optional(Type.Literal(true)),
	});
}

function dialog<Method extends string, Fields extends TProperties>(method: Method, fields: Fields) {
	return event("extension_ui_request", { ...Dialog, method: Type.Literal(method), ...fields });
}
