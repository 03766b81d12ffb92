import type { PromptTokens } from "../core/bill.ts";
import { type Exchange, framesIn } from "../wire/exchange.ts";
import {
	AnswerReader,
	type Format,
	formatOf,
	ResponseThreads,
	readRequest,
	readSpeaker,
	type Usage,
	type WireAnswer,
} from "../wire/index.ts";
import { decodeBody, isDense } from "./decode.ts";
import { promptOf } from "./sent-request.ts";
import { type TracedRequest, traceRequest } from "./trace.ts";

/**
 * `other`: the exchange asks no model, such as a list of models. `unreadable`: it does, but the
 * request is missing, damaged, too large or of an unknown shape.
 */
export type ExchangeReading =
	| { readonly kind: "other" | "unreadable" }
	| {
			readonly kind: "request";
			readonly request: TracedRequest;
			readonly answer: WireAnswer;
			/** False if the provider has other prices for the tier or the speed of the answer. */
			readonly isListPriced: boolean;
			/** Decoded bodies; the frames of a WebSocket as lines. */
			readonly requestBody: Buffer;
			readonly answerBody: Buffer | undefined;
	  };

/** More pieces are not looked at: the longest real requests have some thousands. */
const MAX_PIECES = 20_000;

/** A longer frame of a WebSocket is not looked at. The longest real ones repeat one answer. */
const MAX_FRAME_LENGTH = 8 * 1024 * 1024;

/** Reads exchanges in the order in which they ended. Never throws. */
export class ExchangeReader {
	readonly #threads = new ResponseThreads();

	read(exchange: Exchange): ExchangeReading {
		const format = formatOf(exchange.path);
		const isAsking = exchange.method === "POST" || exchange.status === SWITCHED;
		if (!format || !isAsking) return { kind: "other" };
		const requestBody = readable(exchange.requestBody, exchange.requestEncoding);
		const request = requestBody && readRequest(format, requestBody, exchange.path);
		if (!request || request.pieces.length > MAX_PIECES) return { kind: "unreadable" };

		const frames = exchange.frames && framesIn(exchange.frames);
		const answerBody = frames
			? sparse(Buffer.from(frames.join("\n")))
			: readable(exchange.answerBody, exchange.answerEncoding);
		const answer = readAnswer(format, exchange, answerBody && (frames ?? answerBody));
		const joined = this.#threads.join(request);
		if (joined && format.name === "responses") this.#threads.add(joined, answer);
		const { usage, thinking, rounds, cleared, isCompacted } = answer;
		const isBilled = usage && promptOf(usage) > 0;
		const traced = traceRequest(joined ?? request, exchange.upstream, {
			speaker: readSpeaker(exchange.requestHeaders, requestBody),
			isPartial: joined === undefined,
			startedMs: exchange.startedMs,
			cachedMs: exchange.firstByteMs ?? exchange.endedMs,
			...(isBilled && { tokens: rounds?.first ?? promptIn(usage) }),
			...(isBilled && rounds && { lastPrompt: rounds.last }),
			...(cleared && { cleared }),
			...(isCompacted && { isCompacted }),
			...(thinking && { misplaced: thinking }),
		});
		const { serviceTier, speed } = request.settings;
		const isListPriced = [answer.tier ?? serviceTier, speed].every(isUsual);
		return { kind: "request", request: traced, answer, isListPriced, requestBody, answerBody };
	}
}

/** Without the answer's tokens, which are no part of what a cache miss costs. */
function promptIn({ input, read, write, writeOneHour }: Usage): PromptTokens {
	return { input, read, write, writeOneHour };
}

/** The status of a WebSocket. */
const SWITCHED = 101;

/** Tiers and speeds at list prices, by the names of all providers. */
const USUAL: readonly unknown[] = ["standard", "default", "auto", "standard_only", undefined];

function isUsual(tier: string | undefined): boolean {
	return USUAL.includes(tier);
}

function readable(body: Uint8Array | undefined, encoding: string | undefined): Buffer | undefined {
	const decoded = body && decodeBody(body, encoding);
	return decoded && sparse(decoded);
}

function sparse(body: Buffer): Buffer | undefined {
	return isDense(body) ? undefined : body;
}

function readAnswer(
	format: Format,
	exchange: Exchange,
	body: Buffer | readonly string[] | undefined,
): WireAnswer {
	const reader = new AnswerReader(format, exchange.answerType);
	if (Buffer.isBuffer(body)) reader.push(body);
	for (const frame of Array.isArray(body) ? body : []) {
		if (frame.length <= MAX_FRAME_LENGTH) reader.addData(frame);
	}
	const answer = bounded(reader.end(exchange.end === "complete"));
	// A gateway may refuse with a page instead of the provider's error.
	const { status = 200 } = exchange;
	return status < 400 || answer.error
		? answer
		: { ...answer, end: "error", error: `HTTP ${status}` };
}

/** Far more than any window has, and exact in sums. */
const MAX_TOKENS = 1e9;

/** The answer with whole, bounded counts: a provider may state anything. */
function bounded({ usage, rounds, cleared, missReason, ...answer }: WireAnswer): WireAnswer {
	const count = (tokens: number) => Math.min(Math.round(tokens), MAX_TOKENS);
	const counts = <T extends object>(tokens: T) =>
		Object.fromEntries(Object.entries(tokens).map(([name, of]) => [name, count(of)])) as T;
	return {
		...answer,
		...(usage && { usage: counts(usage) }),
		...(rounds && { rounds: { first: counts(rounds.first), last: counts(rounds.last) } }),
		...(cleared && { cleared: count(cleared) }),
		...(missReason && {
			missReason: {
				type: missReason.type,
				...(missReason.tokens !== undefined && { tokens: count(missReason.tokens) }),
			},
		}),
	};
}
