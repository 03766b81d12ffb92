import type { Exchange } from "../wire/exchange.ts";
import {
	AnswerReader,
	type Format,
	formatOf,
	ResponseThreads,
	readRequest,
	readSpeaker,
	type WireAnswer,
} from "../wire/index.ts";
import { decodeBody, isDense } from "./decode.ts";
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
			/** Decoded bodies. */
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
		const isAsking = exchange.method === "POST" || exchange.frames !== undefined;
		if (!format || !isAsking) return { kind: "other" };
		const requestBody = readable(exchange.requestBody, exchange.requestEncoding);
		const request = requestBody && readRequest(format, requestBody, exchange.path);
		if (!request || request.pieces.length > MAX_PIECES) return { kind: "unreadable" };

		const answerBody = readable(exchange.answerBody, exchange.answerEncoding);
		const answer = readAnswer(format, exchange, answerBody);
		const joined = this.#threads.join(request);
		if (joined && format.name === "responses") this.#threads.add(joined, answer);
		const { usage, thinking } = answer;
		const isBilled = usage && usage.input + usage.read + usage.write > 0;
		const traced = traceRequest(joined ?? request, {
			speaker: readSpeaker(exchange.requestHeaders, requestBody),
			isPartial: joined === undefined,
			startedMs: exchange.startedMs,
			cachedMs: exchange.firstByteMs ?? exchange.endedMs,
			...(isBilled && { tokens: usage }),
			...(thinking && { misplaced: thinking }),
		});
		return { kind: "request", request: traced, answer, requestBody, answerBody };
	}
}

function readable(body: Uint8Array | undefined, encoding: string | undefined): Buffer | undefined {
	const decoded = body && decodeBody(body, encoding);
	return decoded && !isDense(decoded) ? decoded : undefined;
}

function readAnswer(format: Format, exchange: Exchange, body: Buffer | undefined): WireAnswer {
	const reader = new AnswerReader(format, exchange.answerType);
	for (const frame of exchange.frames ?? []) {
		if (frame.length <= MAX_FRAME_LENGTH) reader.addData(frame);
	}
	if (body && !exchange.frames) reader.push(body);
	return bounded(reader.end(exchange.end === "complete"));
}

/** Far more than any window has, and exact in sums. */
const MAX_TOKENS = 1e9;

/** The answer with whole, bounded counts: a provider may state anything. */
function bounded({ usage, missReason, ...answer }: WireAnswer): WireAnswer {
	const count = (tokens: number) => Math.min(Math.round(tokens), MAX_TOKENS);
	return {
		...answer,
		...(usage && {
			usage: {
				...{ input: count(usage.input), read: count(usage.read), write: count(usage.write) },
				writeOneHour: count(usage.writeOneHour),
				...{ output: count(usage.output), reasoning: count(usage.reasoning) },
			},
		}),
		...(missReason && {
			missReason: {
				type: missReason.type,
				...(missReason.tokens !== undefined && { tokens: count(missReason.tokens) }),
			},
		}),
	};
}
