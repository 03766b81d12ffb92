import type { Picture } from "../parts/picture-facts.ts";

/** A call of a tool, from its first letters to its result. */
export interface ToolCall {
	id: string;
	name: string;
	/** As far as it is written; `args` has all of it. */
	argsText: string;
	args: unknown;
	/** `writing`: the model is still at it. `waiting`: nobody has started it yet. `lost`: the run ended without a result. */
	state: "writing" | "waiting" | "running" | "done" | "failed" | "lost";
	/** What it has printed so far, or its result. */
	output: string;
	/** Those of its result. */
	pictures: readonly Picture[];
}

/** A part of an answer. */
export type Block =
	| { kind: "text"; text: string }
	| { kind: "thinking"; text: string }
	| { kind: "call"; call: ToolCall };

interface Base {
	/** The same for the same thing, whether it was loaded or came as events. */
	key: string;
	/** Milliseconds since 1970, where it is known. */
	atMs?: number;
	/** The entry of the session's file, where it is known: what `fork` and `navigate_tree` take. */
	entryId?: string;
	/** The server cut it. */
	isCut?: boolean;
}

/** Something the user said. */
export interface UserItem extends Base {
	kind: "user";
	text: string;
	pictures: readonly Picture[];
}

/** An answer of the model. */
export interface AssistantItem extends Base {
	kind: "assistant";
	blocks: readonly Block[];
	isStreaming: boolean;
	/** Its beginning was written before this page listened. */
	isPartial?: boolean;
	model?: string;
	error?: string;
	isAborted?: boolean;
	tokens?: number;
	dollars?: number;
}

/** A shell command of the user. */
export interface BashItem extends Base {
	kind: "bash";
	/** Unknown while another client runs it. */
	command?: string;
	output: string;
	state: "running" | "done" | "failed" | "cancelled";
	exitCode?: number;
}

/** A summary that stands for what was said before: of a compaction, or of a branch that was left. */
export interface SummaryItem extends Base {
	kind: "summary";
	of: "compaction" | "branch";
	text: string;
	tokensBefore?: number;
}

/** A message that an extension put into the conversation, or its answer to a command. */
export interface CustomItem extends Base {
	kind: "custom";
	label: string;
	text: string;
	pictures: readonly Picture[];
	/** Its lines must not be broken: what they have stands in columns. */
	hasColumns?: boolean;
}

/** A quiet line: settings that changed, notes that extensions keep. Equal ones in a row are counted. */
export interface NoteItem extends Base {
	kind: "note";
	text: string;
	/** The keys of all that this line stands for, its own included. */
	stands: readonly string[];
}

/** Something that went wrong beside the answers. */
export interface ErrorItem extends Base {
	kind: "error";
	text: string;
}

/** One thing in a conversation. */
export type Item =
	| UserItem
	| AssistantItem
	| BashItem
	| SummaryItem
	| CustomItem
	| NoteItem
	| ErrorItem;
