import type { AnswerOf, Coverage, Covered, QueryOf, QuestionName } from "./answers.ts";

/** Options of one call. An abort rejects the call at once. */
export interface CallOptions {
	readonly signal?: AbortSignal;
	readonly onProgress?: (progress: IndexProgress) => void;
}

/** Options of `build`. */
export interface BuildOptions extends CallOptions {
	/**
	 * Of files that are not indexed yet, reads declarations, imports and exports only, in half the time. References and
	 * texts follow after the next question, unless it needs them; see `pending` of {@link Coverage}. Default: false.
	 */
	readonly skeletonFirst?: boolean;
}

/** How many files one phase of indexing has processed. */
export interface IndexProgress {
	readonly phase: "scanning" | "parsing" | "resolving" | "storing";
	readonly done: number;
	readonly total?: number;
}

/** How many files one indexing found added, changed and removed. */
export interface BuildReport extends Covered {
	readonly added: number;
	readonly changed: number;
	readonly removed: number;
	readonly seconds: number;
}

/** The state and size of an index. `status` does not refresh the index. */
export interface IndexStatus {
	/** `partial`: the first indexing was interrupted; the next `build` resumes it. */
	readonly state: "absent" | "partial" | "ready";
	readonly root: string;
	readonly database: string;
	readonly bytes: number;
	readonly files: number;
	readonly symbols: number;
	readonly updatedMs?: number;
	/** Files whose references and texts are still to be read. */
	readonly pending?: number;
	readonly leftOut?: Coverage["leftOut"];
	readonly linksNotFollowed?: number;
	/** An event since the index was opened, such as a rebuild after damage. */
	readonly note?: string;
}

export type IndexQueries = {
	[Name in QuestionName]: (query: QueryOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>;
};

/** Every question refreshes the index first. Before the first `build`, it rejects with `not-indexed`. */
export interface CodeIndex extends IndexQueries {
	/** The real path of the project. */
	readonly root: string;
	status(): Promise<IndexStatus>;
	/** Indexes the project. Later calls index only changes. */
	build(options?: BuildOptions): Promise<BuildReport>;
	/** Ends the worker. Calls in flight reject. */
	close(): Promise<void>;
}

/** Why a call failed. The message names the wrong value and says what to do; `code` is for programs. */
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
