const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * A JSON value within a buffer: where it stands, and its members on demand. Only the parts that are
 * read are parsed. Malformed JSON throws a SyntaxError at the latest when it is read.
 */
export class JsonSpan {
	readonly bytes: Buffer;
	/** Byte offsets; `end` is exclusive. */
	readonly start: number;
	readonly end: number;

	constructor(bytes: Buffer, start: number, end: number) {
		this.bytes = bytes;
		this.start = start;
		this.end = end;
	}

	static of(bytes: Uint8Array): JsonSpan {
		const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		const start = skipSpace(buffer, 0);
		return new JsonSpan(buffer, start, endOfValue(buffer, start));
	}

	get isArray(): boolean {
		return this.bytes[this.start] === OPEN_ARRAY;
	}

	get isObject(): boolean {
		return this.bytes[this.start] === OPEN_OBJECT;
	}

	get isString(): boolean {
		return this.bytes[this.start] === QUOTE;
	}

	get text(): string {
		return this.bytes.toString("utf8", this.start, this.end);
	}

	/** The parsed value. */
	get value(): unknown {
		return JSON.parse(this.text);
	}

	/** The items of an array; empty for any other value. */
	*items(): Generator<JsonSpan> {
		if (!this.isArray) return;
		let at = this.#first();
		while (at < this.end) {
			const item = this.#valueAt(at);
			yield item;
			at = this.#next(item.end);
		}
	}

	/**
	 * The members of an object by key; empty for any other value. The last of equal keys wins, unless keys
	 * have to be `unique`: readers differ in which of them they take.
	 */
	members(keys?: "unique"): Map<string, JsonSpan> {
		const members = new Map<string, JsonSpan>();
		if (!this.isObject) return members;
		let at = this.#first();
		while (at < this.end) {
			const key = this.#valueAt(at);
			const colon = skipSpace(this.bytes, key.end);
			if (!key.isString || this.bytes[colon] !== COLON) throw malformed(colon);
			const member = this.#valueAt(skipSpace(this.bytes, colon + 1));
			const name = String(key.value);
			if (keys === "unique" && members.has(name)) throw malformed(key.start);
			members.set(name, member);
			at = this.#next(member.end);
		}
		return members;
	}

	/** Where the first item or key begins; `end` if there is none. */
	#first(): number {
		const at = skipSpace(this.bytes, this.start + 1);
		return at === this.end - 1 ? this.end : at;
	}

	/** Where the item or key after `end` begins; this value's own `end` after the last one. */
	#next(end: number): number {
		const at = skipSpace(this.bytes, end);
		if (at === this.end - 1) return this.end;
		if (this.bytes[at] !== COMMA) throw malformed(at);
		return skipSpace(this.bytes, at + 1);
	}

	#valueAt(start: number): JsonSpan {
		return new JsonSpan(this.bytes, start, endOfValue(this.bytes, start));
	}
}

/** Where the value that begins at `start` ends. Iterative, so that deep nesting cannot overflow the stack. */
export function endOfValue(bytes: Buffer, start: number): number {
	const first = bytes[start];
	if (first === QUOTE) return endOfString(bytes, start);
	if (first !== OPEN_ARRAY && first !== OPEN_OBJECT) return endOfScalar(bytes, start);
	let depth = 0;
	let at = start;
	while (at < bytes.length) {
		const byte = bytes[at] as number;
		if (byte === QUOTE) {
			at = endOfString(bytes, at);
			continue;
		}
		// `[` and `{` differ from their closing brackets by 2, as in ASCII.
		if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
		else if (byte === OPEN_ARRAY + 2 || byte === OPEN_OBJECT + 2) depth--;
		at++;
		if (depth === 0) return at;
	}
	throw malformed(at);
}

function endOfString(bytes: Buffer, start: number): number {
	let at = start;
	for (;;) {
		at = bytes.indexOf(QUOTE, at + 1);
		if (at === -1) throw malformed(bytes.length);
		let slashes = at;
		while (bytes[slashes - 1] === BACKSLASH) slashes--;
		if ((at - slashes) % 2 === 0) return at + 1;
	}
}

/** A number, `true`, `false` or `null`. */
function endOfScalar(bytes: Buffer, start: number): number {
	let at = start;
	while (at < bytes.length && isScalarByte(bytes[at] as number)) at++;
	if (at === start) throw malformed(start);
	return at;
}

function isScalarByte(byte: number): boolean {
	const isDigit = byte >= 0x30 && byte <= 0x39;
	const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
	return isDigit || isLetter || byte === 0x2b || byte === 0x2d || byte === 0x2e;
}

export function skipSpace(bytes: Buffer, from: number): number {
	let at = from;
	while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
	return at;
}

function malformed(at: number): SyntaxError {
	return new SyntaxError(`malformed JSON at byte ${at}`);
}
