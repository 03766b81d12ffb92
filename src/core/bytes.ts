/** Thrown if stored bytes cannot be decoded because the database is damaged. */
export class MalformedBytes extends Error {
	constructor(message: string) {
		super(`stored bytes are damaged: ${message}`);
		this.name = "MalformedBytes";
	}
}

/** {@link ByteWriter} writes its argument and returns it. {@link ByteReader} returns the stored value. */
export interface Bytes {
	/** A whole number ≥ 0. Numbers below 128 take one byte. */
	number(value?: number): number;
	signed(value?: number): number;
	string(text?: string): string;
	/** The number of items that follow. Each takes at least one byte, so the reader can check the count. */
	count(value?: number): number;
	readonly isAtEnd: boolean;
}

const SHORT = 0x3f;

/** Varints with seven bits per byte; strings are length-prefixed. */
export class ByteWriter implements Bytes {
	readonly isAtEnd = true;
	#bytes = Buffer.allocUnsafe(256);
	#length = 0;

	get length(): number {
		return this.#length;
	}

	number(value = 0): number {
		this.#reserve(8);
		let rest = value;
		// Divides instead of shifting, since shifts truncate to 32 bits.
		while (rest > 0x7f) {
			this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
			rest = Math.floor(rest / 0x80);
		}
		this.#bytes[this.#length++] = rest;
		return value;
	}

	count(value = 0): number {
		return this.number(value);
	}

	signed(value = 0): number {
		this.number(value < 0 ? -2 * value - 1 : 2 * value);
		return value;
	}

	string(text = ""): string {
		if (text.length <= SHORT && this.#ascii(text)) return text;
		// UTF-8 cannot encode lone surrogates: such text is written as UTF-16.
		const isWellFormed = text.isWellFormed();
		const length = isWellFormed ? Buffer.byteLength(text) : text.length * 2;
		this.number(length * 2 + (isWellFormed ? 0 : 1));
		this.#reserve(length);
		this.#bytes.write(text, this.#length, isWellFormed ? "utf8" : "utf16le");
		this.#length += length;
		return text;
	}

	/** Writes short ASCII text, faster than native code can. Returns false for other text. */
	#ascii(text: string): boolean {
		this.#reserve(text.length + 1);
		const bytes = this.#bytes;
		const start = this.#length + 1;
		for (let at = 0; at < text.length; at++) {
			const char = text.charCodeAt(at);
			if (char > 0x7f) return false;
			bytes[start + at] = char;
		}
		bytes[this.#length] = text.length * 2;
		this.#length = start + text.length;
		return true;
	}

	bytes(bytes: Uint8Array): void {
		this.#reserve(bytes.length);
		this.#bytes.set(bytes, this.#length);
		this.#length += bytes.length;
	}

	append(other: ByteWriter): void {
		this.#reserve(other.#length);
		other.#bytes.copy(this.#bytes, this.#length, 0, other.#length);
		this.#length += other.#length;
		other.#length = 0;
	}

	take(): Uint8Array<ArrayBuffer> {
		const bytes = new Uint8Array(this.#bytes.subarray(0, this.#length));
		this.#length = 0;
		return bytes;
	}

	#reserve(count: number): void {
		if (this.#length + count <= this.#bytes.length) return;
		const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count));
		this.#bytes.copy(larger, 0, 0, this.#length);
		this.#bytes = larger;
	}
}

export class ByteReader implements Bytes {
	readonly #bytes: Buffer;
	at: number;

	constructor(bytes: Uint8Array, at = 0) {
		this.#bytes = Buffer.isBuffer(bytes)
			? bytes
			: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.at = at;
	}

	get isAtEnd(): boolean {
		return this.at >= this.#bytes.length;
	}

	number(): number {
		let byte = this.#byte();
		if (byte < 0x80) return byte;
		let value = byte & 0x7f;
		for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
			if (scale > Number.MAX_SAFE_INTEGER) throw new MalformedBytes("a number is too long");
			byte = this.#byte();
			value += (byte & 0x7f) * scale;
		}
		return value;
	}

	count(): number {
		const count = this.number();
		if (count > this.#bytes.length - this.at) throw new MalformedBytes(`a count of ${count}`);
		return count;
	}

	signed(): number {
		const value = this.number();
		return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
	}

	string(): string {
		const length = this.number();
		const end = this.at + Math.floor(length / 2);
		if (end > this.#bytes.length) throw new MalformedBytes("a string exceeds them");
		const text = this.#bytes.toString(length % 2 === 0 ? "utf8" : "utf16le", this.at, end);
		this.at = end;
		return text;
	}

	#byte(): number {
		const byte = this.#bytes[this.at++];
		if (byte === undefined) throw new MalformedBytes("unexpected end");
		return byte;
	}
}
