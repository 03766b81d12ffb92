/** What one block of a message stands for. */
export type BlockKind =
	| "user"
	| "thinking"
	| "text"
	| "call"
	| "result"
	| "summary"
	/** Put into the conversation by an extension, or by a command the user ran. */
	| "note";

/** A content block of a session file, without its text. */
export interface SourceBlock {
	/** Its number in the session: a block that is sent again has the same. */
	readonly id: number;
	readonly kind: BlockKind;
	/** Equal hashes stand for equal content. */
	readonly hash: string;
	/** Tokens by rule of thumb, or as the provider counted them. */
	readonly estimate: number;
	/** The provider counted the tokens when it wrote the block. */
	readonly counted: boolean;
	readonly label: string;
	readonly result?: ToolResult;
}

/** What is known about the result of a tool. */
export interface ToolResult {
	readonly tool: string;
	/** The file, if the tool was `read` and returned text. */
	readonly read?: FileRead;
	/** The read cache answered with a marker or a diff, as its `details` say. */
	readonly isShort?: true;
	readonly hasImage: boolean;
	readonly isError: boolean;
}

/** A file, or a part of one, that the model was shown. */
export interface FileRead {
	readonly path: string;
	/** The part that was asked for; the same for equal `offset` and `limit`. */
	readonly window: string;
	readonly isWhole: boolean;
	/** A short hash of every line, in ascending order; absent where there would be too many. */
	readonly lines?: Uint32Array;
}

/** The system prompt and the tools as one system message changes them. */
export interface SystemChange {
	readonly replace: boolean;
	readonly text: Sized | undefined;
	readonly sections: ReadonlyMap<string, Sized | null>;
	readonly toolsAdded: ReadonlyMap<string, Sized>;
	readonly toolsRemoved: readonly string[];
}

/** Content known by its hash and size only. */
export interface Sized {
	readonly hash: string;
	readonly tokens: number;
}

/** What a request was billed, as the session file has it. */
export interface Usage {
	readonly input: number;
	readonly output: number;
	readonly read: number;
	readonly write: number;
	readonly writeOneHour: number;
}

/** A line of a session file as far as rebuilding requests needs it. */
export type Entry = EntryBase &
	(
		| { readonly type: "message"; readonly blocks: readonly SourceBlock[] }
		| {
				readonly type: "assistant";
				readonly blocks: readonly SourceBlock[];
				readonly answer: Answer;
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
				/** What stands for the target from now on; nothing at all where it was taken out. */
				readonly blocks: readonly SourceBlock[];
		  }
		| { readonly type: "thinking"; readonly level: string }
		| { readonly type: "warming"; readonly model: ModelName; readonly usage: Usage }
		| { readonly type: "other" }
	);

interface EntryBase {
	readonly id: string;
	/** Position of the parent in the session, -1 for a root. Always smaller than the entry's own. */
	readonly parent: number;
	readonly atMs: number;
}

/** An answer of the model, and with it the request that led to it. */
export interface Answer {
	readonly model: ModelName;
	readonly usage: Usage;
	/** When the request was sent. */
	readonly sentMs: number;
	/** Pi leaves answers that failed or were stopped out of later requests. */
	readonly isKept: boolean;
}

/** A model as a session file names it; empty where it does not say. */
export interface ModelName {
	readonly provider: string;
	readonly id: string;
}

/** Both names of a model in one: `provider/id`. */
export function fullName({ provider, id }: ModelName): string {
	return `${provider}/${id}`;
}
