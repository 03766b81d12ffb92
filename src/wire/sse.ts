/** A longer event is dropped: no provider sends one, and memory is bounded. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/** Splits a server-sent event stream into the data of its events, whatever the chunks. */
export class SseReader {
	readonly #onData: (data: string) => void;
	#rest: Buffer[] = [];
	#restBytes = 0;
	#data: string[] = [];
	#dataBytes = 0;
	/** The last byte was a CR: an LF that follows belongs to the same line end. */
	#isAfterCr = false;

	constructor(onData: (data: string) => void) {
		this.#onData = onData;
	}

	push(chunk: Buffer): void {
		let from = 0;
		if (this.#isAfterCr && chunk[0] === LF) from = 1;
		if (chunk.length > 0) this.#isAfterCr = false;
		// Most streams have no CR: it is not searched for again and again.
		let cr = chunk.indexOf(CR, from);
		while (from < chunk.length) {
			if (cr !== -1 && cr < from) cr = chunk.indexOf(CR, from);
			const lf = chunk.indexOf(LF, from);
			const end = lf === -1 || cr === -1 ? Math.max(lf, cr) : Math.min(lf, cr);
			if (end === -1) break;
			this.#keep(chunk.subarray(from, end));
			this.#line(this.#takeRest());
			const isCr = chunk[end] === CR;
			if (isCr && end + 1 === chunk.length) this.#isAfterCr = true;
			from = end + (isCr && chunk[end + 1] === LF ? 2 : 1);
		}
		if (from < chunk.length) this.#keep(chunk.subarray(from));
	}

	/** The data of a last event that no blank line follows; the standard drops it, providers may not. */
	end(): void {
		if (this.#restBytes > 0) this.#line(this.#takeRest());
		this.#line("");
	}

	#keep(bytes: Buffer): void {
		this.#restBytes += bytes.length;
		if (this.#restBytes <= MAX_EVENT_BYTES) this.#rest.push(bytes);
		else this.#rest = [];
	}

	#takeRest(): string {
		const [first] = this.#rest;
		const line =
			(this.#rest.length > 1 ? Buffer.concat(this.#rest) : first)?.toString("utf8") ?? "";
		this.#rest = [];
		this.#restBytes = 0;
		return line;
	}

	#line(line: string): void {
		if (line === "") {
			if (this.#data.length > 0 && this.#dataBytes <= MAX_EVENT_BYTES) {
				this.#onData(this.#data.join("\n"));
			}
			this.#data = [];
			this.#dataBytes = 0;
		} else if (line.startsWith("data:")) {
			const data = line.slice(line[5] === " " ? 6 : 5);
			this.#dataBytes += data.length;
			if (this.#dataBytes <= MAX_EVENT_BYTES) this.#data.push(data);
		}
	}
}
