/**
 * One request and its answer, as forwarded. Bodies are bytes as they went over the wire; each has
 * memory of its own, so that it can be transferred to a worker.
 */
export interface Exchange {
	/** When the head of the request arrived, as `Date.now()`. */
	readonly startedMs: number;
	/** When the head of the answer arrived. */
	readonly firstByteMs?: number;
	readonly endedMs: number;
	/** `anthropic`, `openai`, `chatgpt`, `gemini` or a configured name. */
	readonly upstream: string;
	readonly method: string;
	/** Without the secret, the upstream's name and the query. */
	readonly path: string;
	/** Absent if no answer came. */
	readonly status?: number;
	/** Names in lower case, without credentials. */
	readonly requestHeaders: Readonly<Record<string, string>>;
	/** Absent above the proxy's limits, and if the client did not send all of it. */
	readonly requestBody?: Uint8Array;
	/** The content encoding of the request. */
	readonly requestEncoding?: string;
	/** The content type of the answer. */
	readonly answerType?: string;
	readonly answerEncoding?: string;
	/** Absent above the proxy's limits. Of a cut answer, the bytes that arrived. */
	readonly answerBody?: Uint8Array;
	/**
	 * WebSocket: one exchange for each `response.create`, which is the request's body. These are the
	 * frames of its answer, each after {@link FRAME_START}. Absent above the proxy's limits.
	 */
	readonly frames?: Uint8Array;
	/** Absent without savings, and for a request without results. */
	readonly savings?: SavingsNote;
	readonly end: "complete" | "client-gone" | "upstream-failed" | "upstream-cut";
}

/** What shortening saved in one request, or would have saved. Estimates: a bill is the provider's. */
export interface SavingsNote {
	/** Of the prompt. */
	readonly tokens: number;
	/** Results that are shorter than the agent sent them. */
	readonly results: number;
	/** True if the original was sent. */
	readonly isShadow?: true;
	/** Why new results, or all of them, stayed as they are. */
	readonly kept?: string;
}

/** A POST with its whole body, which may be rewritten before it is forwarded. */
export interface RewritableRequest {
	/** Without the secret, the upstream's name and the query. */
	readonly path: string;
	/** The content encoding, if there is one. */
	readonly encoding?: string | undefined;
	/** May be kept: it never changes. */
	readonly body: Buffer;
}

export interface Rewriting {
	/** What is sent instead. The original is sent without it, and if the provider answers 400 to it. */
	readonly body?: Buffer;
	/** Absent if the request has no results to look at. */
	readonly savings?: SavingsNote;
	/**
	 * Called if the provider refused {@link body} and accepted the original: the conversation is sent as it
	 * is from then on. Returns what is noted instead.
	 */
	refused?(): SavingsNote;
}

const SEPARATOR = "\u001e";

/** As in a sequence of JSON texts (RFC 7464). JSON has this character only escaped. */
export const FRAME_START: Uint8Array = Buffer.from(SEPARATOR);

/** The texts of an exchange's frames. */
export function framesIn(frames: Uint8Array): string[] {
	return Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength)
		.toString("utf8")
		.split(SEPARATOR)
		.slice(1);
}
