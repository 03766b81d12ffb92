/**
 * The spine of a session: one listener, ledger, cache clock and list of pending edits. The ledger
 * is derived, never stored: text it cannot prove visible counts as not visible.
 */

export type {
	AnswerRead,
	Draft,
	Host,
	HostContext,
	PlainRead,
	ReadAnswer,
	ReadCall,
	TurnEnd,
} from "./host.ts";
export {
	type ContextItem,
	type ContextLog,
	type CustomItem,
	type CustomMessageItem,
	createLedger,
	type Ledger,
	type ToolResultItem,
} from "./ledger.ts";
export type { SessionSource } from "./messages.ts";
export {
	type ContextMessage,
	contextMessages,
	customMessages,
	editId,
	textOf,
} from "./messages.ts";
export type { EditContent } from "./pending-edits.ts";
export { createPerFolder } from "./per-folder.ts";
export { createSession } from "./session.ts";
export { createSessionFileWatch, createSessionMark } from "./session-file.ts";
export type {
	ContextMessageDraft,
	SessionHolder,
	SessionView,
	ShownFile,
	Spine,
	System,
	ToolResult,
} from "./system.ts";
