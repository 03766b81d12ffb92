import Type from "typebox";
import { QueueMode, ThinkingLevel } from "./field-schemas.ts";

// What pi owns and hands through: only what clients commonly use is spelled out, the rest travels as pi made it.

/** Tokens and dollars of one answer of a model, as pi counts them. */
export const Usage = Type.Object({
	input: Type.Number(),
	output: Type.Number(),
	cacheRead: Type.Number(),
	cacheWrite: Type.Number(),
	totalTokens: Type.Number(),
	cost: Type.Object({ total: Type.Number() }),
});

/** A message of a conversation. `role` says which fields it has. */
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

/** A line of a session file. */
export const SessionEntry = Type.Object({
	type: Type.String(),
	id: Type.String(),
	parentId: Type.Union([Type.String(), Type.Null()]),
	timestamp: Type.String(),
	message: Type.Optional(AgentMessage),
});

/** A model as pi knows it. */
export const Model = Type.Object({
	id: Type.String(),
	name: Type.String(),
	provider: Type.String(),
	reasoning: Type.Boolean(),
	contextWindow: Type.Number(),
	maxTokens: Type.Number(),
	cost: Type.Object({
		input: Type.Number(),
		output: Type.Number(),
		cacheRead: Type.Number(),
		cacheWrite: Type.Number(),
	}),
});

/** What a summary replaced. */
export const CompactionResult = Type.Object({
	summary: Type.String(),
	firstKeptEntryId: Type.String(),
	tokensBefore: Type.Number(),
	estimatedTokensAfter: Type.Optional(Type.Number()),
});

/** How full the model's window is; `tokens` and `percent` are null right after a compaction. */
export const ContextUsage = Type.Object({
	tokens: Type.Union([Type.Number(), Type.Null()]),
	contextWindow: Type.Number(),
	percent: Type.Union([Type.Number(), Type.Null()]),
});

/** One session as the server lists it. */
export const SessionInfo = Type.Object({
	/** The server's own id: it stays when pi's changes on new, switch and fork. */
	sessionId: Type.String(),
	sessionName: Type.Optional(Type.String()),
	sessionFile: Type.Optional(Type.String()),
	cwd: Type.String(),
	/** The settings, extensions and skills that the folder brings itself are loaded. Absent: they are not. */
	projectTrusted: Type.Optional(Type.Literal(true)),
	model: Type.Optional(Model),
	thinkingLevel: ThinkingLevel,
	isStreaming: Type.Boolean(),
	messageCount: Type.Number(),
	/** ISO 8601. */
	createdAt: Type.String(),
});

/** All of a session's settings and what it is doing: `get_state`. */
export const SessionState = Type.Interface([SessionInfo], {
	isCompacting: Type.Boolean(),
	/** A shell command of the user is running: `abort_bash` stops it. */
	isBashRunning: Type.Boolean(),
	steeringMode: QueueMode,
	followUpMode: QueueMode,
	autoCompactionEnabled: Type.Boolean(),
	autoRetryEnabled: Type.Boolean(),
	pendingMessageCount: Type.Number(),
});
