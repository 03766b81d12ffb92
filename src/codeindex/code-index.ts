import type { AnswerOf, Coverage, Covered, QueryOf, QuestionName } from "./answers.ts";

export interface CallOptions {
	readonly signal?: AbortSignal;
	/** Called now and then while files are indexed. */
	readonly onProgress?: (progress: IndexProgress) => void;
}

export interface IndexProgress {
	readonly phase: "scanning" | "parsing" | "resolving" | "storing";
	readonly done: number;
	readonly total?: number;
}

export interface BuildReport extends Covered {
	readonly added: number;
	readonly changed: number;
	readonly removed: number;
	readonly seconds: number;
}

/** The state of the index as it lies on disk, without looking at the tree. */
export interface IndexStatus {
	/** `absent`: never built. `partial`: the first indexing was interrupted and goes on with the next `build`. */
	readonly state: "absent" | "partial" | "ready";
	readonly root: string;
	readonly database: string;
	readonly bytes: number;
	readonly files: number;
	readonly symbols: number;
	readonly updatedMs?: number;
	/** What of the project is not in it, if the tree was looked at since it was opened. */
	readonly leftOut?: Coverage["leftOut"];
	readonly linksNotFollowed?: number;
	/** Something that happened to the index since it was opened, such as that it was damaged and built again. */
	readonly note?: string;
}

export type Asked = {
	[Name in QuestionName]: (query: QueryOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>;
};

/**
 * The code index of one project, living in a worker thread. Every question first compares the tree with the
 * index and takes in what changed. All but `status` and `build` reject with the code `not-indexed` until the project
 * was indexed once: whether that may happen is for the caller to ask.
 */
export interface CodeIndex extends Asked {
	readonly root: string;
	status(): Promise<IndexStatus>;
	/** Indexes for the first time, goes on with an interrupted one, or only takes in what changed. */
	build(options?: CallOptions): Promise<BuildReport>;
	/** Ends the worker. Questions in flight are rejected. */
	close(): Promise<void>;
}

/** Why a question has no answer. `message` names the value that was wrong and what to do. */
export class CodeIndexError extends Error {
	readonly code:
		| "not-indexed"
		| "unknown-file"
		| "outside-project"
		| "bad-query"
		| "aborted"
		| "unavailable"
		| "failed";

	constructor(code: CodeIndexError["code"], message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "CodeIndexError";
		this.code = code;
	}
}
