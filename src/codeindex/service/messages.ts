import type { Questions } from "../answers.ts";
import type { BuildReport, IndexStatus } from "../code-index.ts";

/** What a worker is started with. */
export interface IndexWorkerStart {
	/** The project's real path. */
	readonly root: string;
	/** The database file. */
	readonly database: string;
}

/** What a worker can be called for. */
export interface Calls extends Questions {
	status: { query: undefined; answer: IndexStatus };
	build: { query: undefined; answer: BuildReport };
}

export type Method = keyof Calls;

/** A job of the worker; `IndexProgress` comes before its answer. */
export type IndexCall = {
	[M in Method]: { readonly method: M; readonly query: Calls[M]["query"] };
}[Method];
