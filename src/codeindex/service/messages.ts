import type { Questions } from "../answers.ts";
import type { BuildReport, IndexStatus } from "../code-index.ts";

export interface IndexWorkerStart {
	readonly root: string;
	readonly database: string;
}

export interface Calls extends Questions {
	status: { query: undefined; answer: IndexStatus };
	build: { query: undefined; answer: BuildReport };
}

export type Method = keyof Calls;

/** `IndexProgress` messages precede the answer. */
export type IndexCall = {
	[M in Method]: { readonly method: M; readonly query: Calls[M]["query"] };
}[Method];
