import type { CodeIndex } from "../code-index.ts";

/** What a worker is started with. */
export interface IndexWorkerStart {
	/** The project's real path. */
	readonly root: string;
	/** The database file. */
	readonly database: string;
}

/** What can be asked of an index. */
export type Method = Exclude<keyof CodeIndex, "root" | "close">;

/** A job of the worker; `IndexProgress` comes before its answer. */
export interface IndexCall {
	readonly method: Method;
	readonly query: unknown;
}
