/**
 * The spine of a session: one listener, ledger, cache clock and list of pending edits. The ledger
 * is derived, never stored. Text that it cannot prove visible counts as not visible.
 */

export type { Host, PlainRead, ReadAnswer, ReadCall, TurnEnd } from "./host.ts";
export {
	type ContextItem,
	type ContextLog,
	type CustomItem,
	type CustomMessageItem,
	Ledger,
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
export { createPerFolder } from "./per-folder.ts";
export { Session } from "./session.ts";
export { createSessionFileWatch, createSessionMark } from "./session-file.ts";
export type { SessionHolder, SessionView, ShownFile, Spine, System } from "./system.ts";
