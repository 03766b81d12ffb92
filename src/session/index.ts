/**
 * The spine of a session: one listener, one ledger, one cache clock and one list of pending edits. The
 * ledger is derived from the session, never stored. Text counts as visible only if the ledger proves it.
 */

export type { Host, PlainRead, ReadAnswer, ReadCall, TurnEnd } from "./host.ts";
export {
	type ContextItem,
	type ContextLog,
	type CustomItem,
	type CustomMessageItem,
	Ledger,
	type PinEntry,
	pinnedCalls,
	type ToolResultItem,
} from "./ledger.ts";
export {
	type ContextMessage,
	contextMessages,
	customMessages,
	editId,
	type SessionSource,
	textOf,
} from "./messages.ts";
export { type PendingEdits, shownEdits } from "./pending-edits.ts";
export { createPerFolder } from "./per-folder.ts";
export { Session } from "./session.ts";
export { createSessionFileWatch, createSessionMark } from "./session-file.ts";
export {
	expandReferences,
	type ResultReference,
	restoredResult,
	type Shortened,
	shortenedOf,
} from "./shortened.ts";
export type {
	AnswerDelta,
	PartialAnswer,
	Progress,
	SessionHolder,
	SessionView,
	ShownFile,
	Spine,
	System,
} from "./system.ts";
