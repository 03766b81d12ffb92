import type { PromptTokens, Ttl } from "../../core/bill.ts";
import type { Block } from "../model-request.ts";
import type { SystemChange } from "./conversation.ts";

export type BlockKind =
	| "user"
	| "thinking"
	| "text"
	| "call"
	| "result"
	| "summary"
	/** Added by an extension, or by a command of the user. */
	| "note";

/** What the model says. */
export const ANSWERS: ReadonlySet<string> = new Set<BlockKind>(["text", "call", "thinking"]);

/** A content block without its text. */
export interface SourceBlock {
	/** Unique in the session. A block keeps its id when it is sent again. */
	readonly id: number;
	readonly kind: BlockKind;
	readonly hash: string;
	/** Number of tokens: the provider's count if `counted`, otherwise estimated. */
	readonly estimate: number;
	readonly counted: boolean;
	readonly label: string;
	readonly run?: Block["run"];
	readonly result?: ToolResult;
}

export interface ToolResult {
	readonly tool: string;
	/** Set if the tool was `read` and returned text. */
	readonly read?: FileRead;
	readonly isShort?: true;
	readonly hasImage: boolean;
	readonly isError: boolean;
}

export interface FileRead {
	readonly path: string;
	/** Identifies the range: equal for equal `offset` and `limit`. */
	readonly window: string;
	readonly isWhole: boolean;
	/** A short hash of every line, ascending; absent if there are too many lines. */
	readonly lines?: Uint32Array;
}

export type Entry = EntryBase &
	(
		| { readonly type: "message"; readonly blocks: readonly SourceBlock[] }
		| {
				readonly type: "assistant";
				readonly blocks: readonly SourceBlock[];
				readonly model: ModelName;
				readonly billed: PromptTokens;
				/** If the provider called the model several times for the request. */
				readonly rounds?: Rounds;
				/** Tokens of earlier content that the provider left out of the prompt. */
				readonly cleared?: number;
				/** Start of the request. `atMs` is the end of its answer. */
				readonly sentMs: number;
				/** False for failed and aborted answers, which agents leave out of later requests. */
				readonly isKept: boolean;
				/** Tokens of the answer, as billed. */
				readonly output?: number;
				/** A service tier or speed that list prices are not for, such as `fast`. */
				readonly tier?: string;
				/** Equal in all files that hold a copy of the request. */
				readonly requestId?: string;
				/** The file itself says that another session made the request. */
				readonly isCopy?: true;
				/** The provider's own cause of a cache miss, such as `system_changed`. */
				readonly missReason?: string;
				/** The request's last cache marker, if the file has it: `behind` blocks follow it. */
				readonly marker?: { readonly ttl: Ttl; readonly behind: number };
		  }
		| { readonly type: "system"; readonly change: SystemChange }
		| {
				readonly type: "compaction";
				readonly blocks: readonly SourceBlock[];
				readonly firstKeptId: string | undefined;
				readonly change: SystemChange | undefined;
		  }
		| {
				readonly type: "edit";
				readonly targetId: string;
				/** The target's content from now on; empty if the target was removed. */
				readonly blocks: readonly SourceBlock[];
		  }
		| { readonly type: "thinking"; readonly level: string }
		| {
				readonly type: "warming";
				readonly model: ModelName;
				readonly billed: PromptTokens;
				readonly requestId?: string;
		  }
		| { readonly type: "other" }
	);

/** The first and the last prompt of a request for which the model was called several times. */
export interface Rounds {
	readonly first: PromptTokens;
	readonly last: PromptTokens;
}

interface EntryBase {
	readonly id: string;
	/** The parent's position in the session, -1 for a root. Always smaller than the entry's own position. */
	readonly parent: number;
	readonly atMs: number;
}

/** A session file as a tree of entries. */
export interface SessionEntries {
	readonly file: string;
	readonly entries: readonly Entry[];
	/** The thinking level before an entry states one. Default: unknown, so it counts as the first stated one. */
	readonly thinking?: string;
	readonly skipped: SkippedLines;
}

/** Numbers of lines. All are 0 for an intact file. */
export interface SkippedLines {
	readonly damaged: number;
	readonly tooLong: number;
	/** Entries without a parent earlier in the file. They are attached to the line above. */
	readonly relinked: number;
	/** Entries beyond the bounds of memory. */
	readonly surplus: number;
}

/** A field is empty if the session file does not state it. */
export interface ModelName {
	readonly provider: string;
	readonly id: string;
}

/** `provider/id` */
export function fullName({ provider, id }: ModelName): string {
	return `${provider}/${id}`;
}
