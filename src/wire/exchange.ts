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
	readonly end: "complete" | "client-gone" | "upstream-failed" | "upstream-cut";
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
