import type { CallResult } from "../birth/engine.ts";

/** What the model sees above a new result. */
export interface InView {
	/** In order, with the texts that the model saw. All of them were sent in the request that made the call. */
	readonly results: readonly CallResult[];
	/** Calls whose results may stand above the new one, too, with texts that are not known. */
	readonly unseen: readonly Call[];
}

export interface Call {
	readonly id: string;
	readonly tool: string;
	readonly input: unknown;
}

/** A result that no request has carried yet. */
export interface NewResult extends Call {
	/** As the model would see it. */
	readonly text: string;
	/**
	 * The text that the model would see if the result were shortened to `short`. `undefined` if the agent
	 * cannot show that. Without it, the agent shows every text as it is.
	 */
	fit?(short: string, path: string): string | undefined;
}
