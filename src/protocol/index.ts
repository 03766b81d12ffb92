export type {
	CodeCoverage,
	CodeDepsAnswer,
	CodeFileAtDepth,
	CodeSearchAnswer,
	CodeStatus,
	CodeSymbol,
	CodeUsagesAnswer,
} from "./code-data.ts";
export type { CommandRow } from "./command-row.ts";
export {
	type Command,
	type CommandFields,
	type CommandOf,
	type CommandType,
	commandTable,
	commandTypes,
	laneOf,
	rowOf,
	sessionOf,
	timeoutOf,
} from "./command-table.ts";
export type {
	CacheMiss,
	ContextKind,
	ContextMoment,
	ContextPiece,
	ContextPieceText,
	ContextView,
	Cost,
	CostRequest,
	Price,
	Savings,
	SystemSavings,
	TierFile,
	Tiers,
} from "./context-data.ts";
export type { ErrorCode, LifecycleData, Response } from "./envelope.ts";
export { MAX_SESSION_CONTENT } from "./field-schemas.ts";
export { protocolJsonSchema } from "./json-schema.ts";
export { parseCommand } from "./parse-command.ts";
export type {
	AgentMessage,
	CompactionResult,
	ContextUsage,
	Model,
	SessionEntry,
	SessionInfo,
	SessionState,
	Usage,
} from "./pi-shapes.ts";
export type { ReplayReport } from "./replay-data.ts";
export type { ResponseData } from "./response-data.ts";
export type {
	CommandHistoryEntry,
	Health,
	ServerMetrics,
	StartupRecovery,
} from "./server-data.ts";
export type { GapFrame, ServerEvent, ServerMessage, SessionEventFrame } from "./server-events.ts";
export type {
	BashResult,
	FlatTreeNode,
	OpenedSession,
	SessionStats,
	SkillInfo,
	SlashCommand,
	StoredSession,
	ToolInfo,
	TreeNode,
} from "./session-data.ts";
export type {
	AssistantMessageEvent,
	ExtensionUiRequest,
	SessionEvent,
} from "./session-events.ts";
export { PROTOCOL_VERSION } from "./version.ts";
