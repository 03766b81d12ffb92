import type { Data } from "../../protocol/index.ts";
import { collapsed } from "../../text/one-line.ts";
import type { Picture } from "../parts/picture.tsx";

export interface ToolCall {
	readonly id: string;
	readonly name: string;
	/** JSON of the arguments as streamed so far; `args` has the complete arguments. */
	readonly argsText: string;
	readonly args: unknown;
	/** `waiting`: not started. `lost`: the run ended without a result. */
	readonly state: "writing" | "waiting" | "running" | "done" | "failed" | "lost";
	readonly output: string;
	readonly pictures: readonly Picture[];
	/** What the call did, in short parts. Empty until it has ended. */
	readonly effect: readonly string[];
	/** For an edit: the unified diff of what it changed. */
	readonly patch?: string;
	/** When the tool started, in ms since 1970. */
	readonly startedMs?: number;
	/** The entry with the result, once the session file has it. */
	readonly resultId?: string;
}

export const NEW_CALL: ToolCall = {
	id: "",
	name: "",
	argsText: "",
	args: undefined,
	state: "writing",
	output: "",
	pictures: [],
	effect: [],
};

export type Block =
	| { kind: "text"; text: string }
	| { kind: "thinking"; text: string }
	| { kind: "call"; call: ToolCall };

interface Base {
	/** A loaded entry and its events have the same key. */
	readonly key: string;
	readonly entryId?: string;
	readonly isCut?: boolean;
	/** When the message was sent or its request started, in ms since 1970. */
	readonly atMs?: number;
}

export type Item = Base &
	(
		| { kind: "user"; text: string; pictures: readonly Picture[] }
		| {
				kind: "assistant";
				blocks: readonly Block[];
				isStreaming: boolean;
				/** Set if the answer's beginning was streamed before this page subscribed. */
				isPartial?: boolean;
				model?: string;
				error?: string;
				isAborted?: boolean;
				bill?: RequestBill;
		  }
		| {
				kind: "bash";
				/** Undefined while another client runs the command. */
				command?: string;
				output: string;
				state: "running" | "done" | "failed" | "cancelled";
				exitCode?: number;
		  }
		| { kind: "summary"; origin: "compaction" | "branch"; text: string; tokensBefore?: number }
		/** A message of an extension, or its answer to a command. `hasColumns`: lines must not wrap. */
		| {
				kind: "custom";
				label: string;
				text: string;
				pictures: readonly Picture[];
				hasColumns?: boolean;
		  }
		/** A changed setting or an extension's note. `mergedKeys`: its key and those of equal notes after it. */
		| { kind: "note"; text: string; mergedKeys: readonly string[] }
		| { kind: "error"; text: string }
	);

/** What the provider charged for one request. */
export interface RequestBill {
	/** The number of the request in the session file, from 1, all branches counted. */
	readonly request: number;
	/** Prompt and answer. */
	readonly tokens: number;
	readonly dollars: number;
}

export type ItemOf<Kind extends Item["kind"]> = Extract<Item, { kind: Kind }>;
export type AssistantItem = ItemOf<"assistant">;

/** The arguments that describe a call best, most preferred first. */
const KEYS = ["path", "file_path", "command", "query", "pattern", "symbol", "file", "url", "name"];
const MAX_SUMMARY = 160;

/** A call in one line: the argument that describes it best, or all arguments as JSON. */
export function callSummary({ args, argsText }: Pick<ToolCall, "args" | "argsText">): string {
	if (typeof args !== "object" || args === null) return oneLine(argsText);
	const given = args as Record<string, unknown>;
	const name = KEYS.find((key) => typeof given[key] === "string" && given[key] !== "");
	if (name !== undefined) return oneLine(String(given[name]));
	const text = JSON.stringify(args);
	return text === "{}" ? "" : oneLine(text);
}

type Edit = { readonly oldText: string; readonly newText: string };

export function editsOf(args: unknown): Edit[] {
	const given = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
	const list = Array.isArray(given.edits) ? given.edits : [given];
	return list.filter(
		(edit): edit is Edit => typeof edit?.oldText === "string" && typeof edit?.newText === "string",
	);
}

function oneLine(text: string): string {
	const line = collapsed(text.slice(0, MAX_SUMMARY * 2));
	return line.length > MAX_SUMMARY ? `${line.slice(0, MAX_SUMMARY)}…` : line;
}

/** Applies one step of streaming. Returns the same list if the step changes nothing. */
export function withStreamStep(blocks: readonly Block[], step: Data<"AssistantMessageEvent">) {
	if (!("contentIndex" in step)) return blocks;
	const block = blocks[step.contentIndex];
	const put = (next: Block) => withBlock(blocks, step.contentIndex, next);
	const before = (kind: "text" | "thinking") => (block?.kind === kind ? block.text : "");
	switch (step.type) {
		case "text_start":
			return put({ kind: "text", text: "" });
		case "text_delta":
			return put({ kind: "text", text: before("text") + step.delta });
		case "thinking_start":
			return put({ kind: "thinking", text: "" });
		case "thinking_delta":
			return put({ kind: "thinking", text: before("thinking") + step.delta });
		case "toolcall_start":
			return put({ kind: "call", call: { ...NEW_CALL, id: step.id, name: step.toolName } });
		case "toolcall_delta": {
			const call = block?.kind === "call" ? block.call : NEW_CALL;
			return put({ kind: "call", call: { ...call, argsText: call.argsText + step.delta } });
		}
		case "toolcall_end": {
			if (block?.kind !== "call" || block.call.state !== "writing") return blocks;
			const args = parsed(block.call.argsText);
			return put({ kind: "call", call: { ...block.call, state: "waiting", args } });
		}
		default:
			return blocks;
	}
}

/** Maximum number of blocks, so that an untrusted index cannot allocate a huge list. */
const MAX_BLOCKS = 10_000;

function withBlock(blocks: readonly Block[], at: number, block: Block): readonly Block[] {
	if (!Number.isInteger(at) || at < 0 || at >= MAX_BLOCKS) return blocks;
	const next = [...blocks];
	// A late subscriber has not seen the earlier blocks, so they are empty.
	while (next.length < at) next.push({ kind: "text", text: "" });
	next[at] = block;
	return next;
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined; // invalid JSON; `tool_execution_start` has the arguments
	}
}

/** Maximum items searched, from the end, for a result's call. A call is near; a missing one must be cheap. */
const MAX_LOOKBACK = 400;

/** Replaces the latest call with this id in `items`. Returns whether there is one. */
export function updateCall(
	items: Item[],
	callId: string,
	change: (call: ToolCall, item: AssistantItem) => ToolCall,
) {
	for (let at = items.length - 1; at >= Math.max(0, items.length - MAX_LOOKBACK); at--) {
		const item = items[at];
		if (item?.kind !== "assistant") continue;
		const index = item.blocks.findLastIndex(
			(block) => block.kind === "call" && block.call.id === callId,
		);
		const block = item.blocks[index];
		if (block?.kind !== "call") continue;
		const call = change(block.call, item);
		if (call !== block.call) {
			items[at] = { ...item, blocks: item.blocks.with(index, { kind: "call", call }) };
		}
		return true;
	}
	return false;
}
