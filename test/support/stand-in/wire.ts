import type { PromptTokens } from "../../../src/core/bill.ts";
import type { Reply } from "./script.ts";

/** One vendor's wire, from the provider's side. Shares no code with `src/wire`, which it tests. */
export interface Wire {
	/** Whether a POST to this path asks for an answer of the model. */
	matches(path: string): boolean;
	read(body: Body, path: string): Asked;
	/** Reads, refreshes and writes the cache; the bill of the prompt. */
	bill(body: Body, asked: Asked): PromptTokens;
	/** Throws if the vendor would refuse to count the tokens of this request. */
	checkCount?(body: Body): void;
	/** The events of a streamed answer, in order. */
	events(answer: Answer): StreamEvent[];
	/** What keeps a silent stream open, as sent. Google's client takes no such thing. */
	readonly ping?: string;
	/** The answer as one document. */
	document(answer: Answer): unknown;
	/** The vendor's error body. */
	error(status: number, message: string): unknown;
}

export type Body = Readonly<Record<string, unknown>>;

/** What the script needs to know of a request. */
export interface Asked {
	readonly model: string;
	/** The names of the tools that it offers. */
	readonly tools: readonly string[];
	readonly isStream: boolean;
	/** Set if the answer has to be JSON of this schema. */
	readonly schema?: unknown;
}

export interface Answer {
	/** A number for each answer, from which ids are made. */
	readonly number: number;
	readonly model: string;
	readonly isStream: boolean;
	readonly body: Body;
	readonly reply: Reply | undefined;
	readonly usage: Billed;
}

export interface Billed extends PromptTokens {
	readonly output: number;
}

export interface StreamEvent {
	readonly event?: string;
	readonly data: unknown;
}

/** A refusal by the vendor's rules. */
export class Refusal extends Error {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

export function records(list: unknown): Record<string, unknown>[] {
	return Array.isArray(list) ? list.map((one) => Object(one) as Record<string, unknown>) : [];
}

/** Up to three parts of about equal length, so that clients must join them. */
export function inParts(text: string): string[] {
	const characters = Array.from(text);
	const size = Math.max(1, Math.ceil(characters.length / 3));
	return [0, size, 2 * size]
		.map((from) => characters.slice(from, from + size).join(""))
		.filter((part) => part !== "");
}
