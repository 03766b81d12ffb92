import Type from "typebox";
import { numberFields, QueueMode, ThinkingLevel } from "./field-schemas.ts";

// Shapes of pi's data. Common fields are declared; the others are passed through.

export const Usage = Type.Object({
	...numberFields("input", "output", "cacheRead", "cacheWrite", "totalTokens"),
	cost: Type.Object({ total: Type.Number() }),
});

/** `role` decides which fields are present. */
export const AgentMessage = Type.Object({
	role: Type.String(),
	content: Type.Optional(Type.Unknown()),
	timestamp: Type.Optional(Type.Number()),
	usage: Type.Optional(Usage),
	model: Type.Optional(Type.String()),
	stopReason: Type.Optional(Type.String()),
	errorMessage: Type.Optional(Type.String()),
	toolCallId: Type.Optional(Type.String()),
	toolName: Type.Optional(Type.String()),
	isError: Type.Optional(Type.Boolean()),
});

export const SessionEntry = Type.Object({
	type: Type.String(),
	id: Type.String(),
	parentId: Type.Union([Type.String(), Type.Null()]),
	timestamp: Type.String(),
	message: Type.Optional(AgentMessage),
});

export const Model = Type.Object({
	id: Type.String(),
	name: Type.String(),
	provider: Type.String(),
	reasoning: Type.Boolean(),
	...numberFields("contextWindow", "maxTokens"),
	cost: Type.Object(numberFields("input", "output", "cacheRead", "cacheWrite")),
});

export const CompactionResult = Type.Object({
	summary: Type.String(),
	firstKeptEntryId: Type.String(),
	tokensBefore: Type.Number(),
	estimatedTokensAfter: Type.Optional(Type.Number()),
});

/** `tokens` and `percent` are null right after a compaction. */
export const ContextUsage = Type.Object({
	tokens: Type.Union([Type.Number(), Type.Null()]),
	contextWindow: Type.Number(),
	percent: Type.Union([Type.Number(), Type.Null()]),
});

export const SessionInfo = Type.Object({
	/** The server's id; pi's id changes on new, switch and fork. */
	sessionId: Type.String(),
	sessionName: Type.Optional(Type.String()),
	sessionFile: Type.Optional(Type.String()),
	/** Set if the session is read-only and follows `sessionFile`; with the pi process that has it open, if any. */
	watched: Type.Optional(Type.Object({ piProcess: Type.Optional(Type.Integer()) })),
	cwd: Type.String(),
	/** The folder's own settings, extensions and skills are loaded. */
	projectTrusted: Type.Optional(Type.Literal(true)),
	model: Type.Optional(Model),
	thinkingLevel: ThinkingLevel,
	isStreaming: Type.Boolean(),
	messageCount: Type.Number(),
	/** ISO 8601. */
	createdAt: Type.String(),
	/** In `list_sessions` of several servers: the address of the one that has it. Absent: none until it is used, or there is one server. */
	server: Type.Optional(Type.String()),
});

export const SessionState = Type.Interface([SessionInfo], {
	isCompacting: Type.Boolean(),
	/** Whether a shell command of the user is running; `abort_bash` stops it. */
	isBashRunning: Type.Boolean(),
	steeringMode: QueueMode,
	followUpMode: QueueMode,
	autoCompactionEnabled: Type.Boolean(),
	autoRetryEnabled: Type.Boolean(),
	pendingMessageCount: Type.Number(),
});
