/**
 * The spine of a pi session: one object listens to pi, holds one ledger (what the model can see), one cache clock and one
 * list of pending edits, and asks the systems in a fixed order. The ledger is derived from the session and from the
 * request last observed, never stored: a text it cannot prove visible counts as not visible.
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
