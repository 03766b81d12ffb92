import type { Picture } from "../parts/picture-facts.ts";

export interface ToolCall {
	id: string;
	name: string;
	/** Streamed so far; `args` is complete. */
	argsText: string;
	args: unknown;
	/** `waiting`: not started. `lost`: the run ended without a result. */
	state: "writing" | "waiting" | "running" | "done" | "failed" | "lost";
	output: string;
	pictures: readonly Picture[];
}

/** A call whose first letters are being streamed. */
export const NEW_CALL: ToolCall = {
	id: "",
	name: "",
	argsText: "",
	args: undefined,
	state: "writing",
	output: "",
	pictures: [],
};

export type Block =
	| { kind: "text"; text: string }
	| { kind: "thinking"; text: string }
	| { kind: "call"; call: ToolCall };

interface Base {
	/** The same whether it was loaded or came as events. */
	key: string;
	atMs?: number;
	/** The entry of the session file: what `fork` and `navigate_tree` take. */
	entryId?: string;
	isCut?: boolean;
}

export interface UserItem extends Base {
	kind: "user";
	text: string;
	pictures: readonly Picture[];
}

export interface AssistantItem extends Base {
	kind: "assistant";
	blocks: readonly Block[];
	isStreaming: boolean;
	/** Its beginning was streamed before this page subscribed. */
	isPartial?: boolean;
	model?: string;
	error?: string;
	isAborted?: boolean;
	tokens?: number;
	dollars?: number;
}

export interface BashItem extends Base {
	kind: "bash";
	/** Unknown while another client runs it. */
	command?: string;
	output: string;
	state: "running" | "done" | "failed" | "cancelled";
	exitCode?: number;
}

export interface SummaryItem extends Base {
	kind: "summary";
	of: "compaction" | "branch";
	text: string;
	tokensBefore?: number;
}

/** A message of an extension, or its answer to a command. */
export interface CustomItem extends Base {
	kind: "custom";
	label: string;
	text: string;
	pictures: readonly Picture[];
	/** Its lines must not wrap. */
	hasColumns?: boolean;
}

/** Settings that changed, notes of extensions. Equal neighbours are counted. */
export interface NoteItem extends Base {
	kind: "note";
	text: string;
	/** The keys of all items that this line stands for, its own included. */
	stands: readonly string[];
}

export interface ErrorItem extends Base {
	kind: "error";
	text: string;
}

export type Item =
	| UserItem
	| AssistantItem
	| BashItem
	| SummaryItem
	| CustomItem
	| NoteItem
	| ErrorItem;

/** The most telling arguments first. */
const TELLING = [
	"path",
	"file_path",
	"command",
	"query",
	"pattern",
	"symbol",
	"file",
	"url",
	"name",
];
const MOST = 160;

/** A call in one line: its path, its command, or else its arguments. */
export function callSummary({ args, argsText }: Pick<ToolCall, "args" | "argsText">): string {
	if (typeof args !== "object" || args === null) return oneLine(argsText);
	const given = args as Record<string, unknown>;
	const name = TELLING.find((key) => typeof given[key] === "string" && given[key] !== "");
	if (name !== undefined) return oneLine(String(given[name]));
	const text = JSON.stringify(args);
	return text === "{}" ? "" : oneLine(text);
}

export interface Edit {
	oldText: string;
	newText: string;
}

/** The edits among a call's arguments. */
export function editsOf(args: unknown): Edit[] {
	const given = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
	const list = Array.isArray(given.edits) ? given.edits : [given];
	return list.filter(
		(edit): edit is Edit => typeof edit?.oldText === "string" && typeof edit?.newText === "string",
	);
}

function oneLine(text: string): string {
	const line = text
		.slice(0, MOST * 2)
		.replaceAll(/\s+/g, " ")
		.trim();
	return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}
