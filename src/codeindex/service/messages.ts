import type { CodeIndex, CodeIndexError, IndexProgress } from "../code-index.ts";

/** What a worker is started with. */
export interface IndexWorkerStart {
	/** The project's real path. */
	readonly root: string;
	/** The database file. */
	readonly database: string;
}

/** What can be asked of an index. */
export type Method = Exclude<keyof CodeIndex, "root" | "close">;

/** A message to the worker. `call` is in every answer to it. */
export type IndexRequest =
	| {
			readonly kind: "call";
			readonly call: number;
			readonly method: Method;
			readonly query: unknown;
	  }
	/** Nobody waits for the call any more. */
	| { readonly kind: "abort"; readonly call: number }
	/** Stop what is under way, close the database and end. */
	| { readonly kind: "close" };

/** A message from the worker. */
export type IndexReply =
	| { readonly kind: "progress"; readonly call: number; readonly progress: IndexProgress }
	| { readonly kind: "answer"; readonly call: number; readonly value: unknown }
	| {
			readonly kind: "failure";
			readonly call: number;
			readonly code: CodeIndexError["code"];
			readonly message: string;
	  };
