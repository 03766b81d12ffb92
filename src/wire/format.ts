import type { PromptTokens, Thinking, Ttl } from "../core/bill.ts";
import type { JsonSpan } from "./json-span.ts";
import type { Piece } from "./piece.ts";

/** `chat`: OpenAI's Chat Completions. `responses`: OpenAI's Responses, over HTTP or WebSocket. */
export type FormatName = "anthropic" | "responses" | "chat" | "gemini";

/** A request to a model, in one form for all providers. Holds hashes and names, no texts. */
export interface WireRequest {
	readonly format: FormatName;
	/** As the request names it; empty if it does not. */
	readonly model: string;
	/** In the order of prefix matching: tools, system prompt, messages. */
	readonly pieces: readonly Piece[];
	/** Settings whose change may invalidate a cached prefix. Values are only compared. */
	readonly settings: Readonly<Partial<Record<WireSetting, string>>>;
	/** The response whose prompt and output precede the pieces; the server stores them. */
	readonly continues?: string;
	/** The caller's name for requests that share a prefix. */
	readonly cacheKey?: string;
	/** How long the end of the prompt is to be cached, if the request says so. */
	readonly ttl?: Ttl;
}

type WireSetting =
	| ("thinking" | "effort" | "toolChoice" | "verbosity" | "textFormat")
	| ("serviceTier" | "speed" | "images" | "contextManagement");

/** The tokens of a request and its answer, as billed. */
export interface Usage extends PromptTokens {
	/** Includes `reasoning`. */
	readonly output: number;
	readonly reasoning: number;
}

/** `cut`: the stream ended before the provider said so. */
type AnswerEnd = "complete" | "cut" | "error";

/** What an answer says about its request. Holds no texts. */
export interface WireAnswer {
	readonly end: AnswerEnd;
	readonly id?: string;
	/** The model that answered. */
	readonly model?: string;
	/** Absent if the provider sent no bill. */
	readonly usage?: Usage;
	/** If the provider called the model several times: its first and its last prompt. `usage` is the sum. */
	readonly rounds?: { readonly first: PromptTokens; readonly last: PromptTokens };
	/** True if the provider replaced the history by a summary. */
	readonly isCompacted?: boolean;
	/** Tokens of earlier content that the provider left out of the prompt, as its context editing says. */
	readonly cleared?: number;
	/** The service tier or speed that answered, as the provider names it. */
	readonly tier?: string;
	/** The provider's own cause of a cache miss. */
	readonly missReason?: ProviderMissReason;
	readonly thinking?: Thinking;
	/** The provider's name for an error, such as `overloaded_error`. */
	readonly error?: string;
	/** Output that a later request may refer to by the answer's id; format `responses` only. */
	readonly output?: readonly Piece[];
}

export interface ProviderMissReason {
	/** As the provider names it, such as `system_changed`. */
	readonly type: string;
	readonly tokens?: number;
}

/** One wire format: which requests are its own, and how to read them and their answers. */
export interface Format {
	readonly name: FormatName;
	/** Whether a POST to `path` asks a model for a billed answer. `path` has no query. */
	matches(path: string): boolean;
	/** `body` is an object. */
	request(body: ReadonlyMap<string, JsonSpan>, path: string): Omit<WireRequest, "format">;
	/** The bill in the format's own form, from an answer or from a session file. */
	usage(usage: unknown): Usage;
	/** Reads one answer. */
	answer(): AnswerFold;
}

/** Takes the events of a stream, or the body of an answer that is not one, as parsed JSON. */
export interface AnswerFold {
	/** Whether the event with this JSON text can matter. Spares parsing most of a stream. */
	needs(data: string): boolean;
	add(event: unknown): void;
	/** `isWhole` if all bytes of the answer have arrived. */
	end(isWhole: boolean): WireAnswer;
}
