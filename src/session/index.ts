/**
 * The ledger: which text is in the model's context now, where, and since when. It is derived from the session and
 * from the request last observed, never stored. A text it cannot prove visible counts as not visible.
 */
export { type AnsweringModel, lastBoundAnswer } from "./bound-answer.ts";
export { type ContextMessage, contextMessages } from "./context-messages.ts";
export { type CustomMessage, customMessages } from "./custom-messages.ts";
export {
	type ContextItem,
	type ContextLog,
	type CustomItem,
	type CustomMessageItem,
	createLedger,
	type Ledger,
	type LedgerOptions,
	type ToolResultItem,
	type Visibility,
} from "./ledger.ts";
export { textOf } from "./message-text.ts";
export type { SessionSource } from "./session-source.ts";
