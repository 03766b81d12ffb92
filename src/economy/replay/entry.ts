import type { PromptTokens } from "../../core/bill.ts";
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
				readonly sentMs: number;
				/** False for failed and aborted answers, which pi leaves out of later requests. */
				readonly isKept: boolean;
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
		| { readonly type: "warming"; readonly model: ModelName; readonly billed: PromptTokens }
		| { readonly type: "other" }
	);

interface EntryBase {
	readonly id: string;
	/** The parent's position in the session, -1 for a root. Always smaller than the entry's own position. */
	readonly parent: number;
	readonly atMs: number;
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
