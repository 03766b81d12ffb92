import type { AnswerFold, Format, WireAnswer } from "./format.ts";
import { SseReader } from "./sse.ts";

/** A longer body that is no stream is not looked at. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Reads an answer from its decoded bytes, in chunks of any size. Never throws. */
export class AnswerReader {
	readonly #fold: AnswerFold;
	readonly #sse: SseReader | undefined;
	#body: Buffer[] = [];
	#bytes = 0;

	constructor(format: Format, contentType: string | undefined) {
		this.#fold = format.answer();
		const isStream = /^text\/event-stream\b/i.test(contentType?.trim() ?? "");
		this.#sse = isStream ? new SseReader((data) => this.addData(data)) : undefined;
	}

	push(chunk: Buffer): void {
		if (this.#sse) {
			this.#sse.push(chunk);
			return;
		}
		this.#bytes += chunk.length;
		if (this.#bytes <= MAX_BODY_BYTES) this.#body.push(chunk);
		else this.#body = [];
	}

	/** One event of a stream, as JSON text: the data of an SSE event or a frame of a WebSocket. */
	addData(data: string): void {
		if (!this.#fold.needs(data)) return;
		try {
			this.#fold.add(JSON.parse(data));
		} catch {
			this.#fold.add(data); // such as `[DONE]`
		}
	}

	/** `isWhole`: all bytes of the answer have arrived. */
	end(isWhole: boolean): WireAnswer {
		this.#sse?.end();
		if (this.#body.length > 0) this.addData(Buffer.concat(this.#body).toString("utf8"));
		this.#body = [];
		return this.#fold.end(isWhole);
	}
}
