/** What a {@link LineSplitter} finds: a line without its end, or one that was too long to keep. */
export type Line = { kind: "line"; bytes: Uint8Array } | { kind: "too_long" };

/** Cuts a stream of bytes into lines. */
export interface LineSplitter {
	/** The lines that end in this chunk. */
	push(chunk: Uint8Array): Line[];
	/** What came after the last line feed, as a line of its own; the stream is over. */
	end(): Line[];
	/** Bytes that a line takes up which has not ended yet. */
	readonly held: number;
}

const LF = 10;
const CR = 13;

/**
 * Splits at LF and at nothing else: U+2028 and U+2029 are ordinary characters of JSON strings. A CR before the LF goes,
 * empty lines are left out. A line of more than `maxBytes` is reported once, as soon as it is that long, and the rest of
 * it is skipped, so no more than `maxBytes` are ever held.
 */
export function createLineSplitter(maxBytes: number): LineSplitter {
	// One buffer that doubles: a sender of single bytes must not make us keep an object for each.
	let buffer = Buffer.alloc(0);
	let held = 0;
	let isSkipping = false;

	function add(part: Uint8Array, found: Line[]): void {
		if (isSkipping || part.length === 0) return;
		// One more for the CR that does not count.
		if (held + part.length > maxBytes + 1) {
			isSkipping = true;
			forget();
			found.push({ kind: "too_long" });
			return;
		}
		if (held + part.length > buffer.length) {
			const larger = Buffer.alloc(Math.max(held + part.length, 2 * buffer.length));
			buffer.copy(larger, 0, 0, held);
			buffer = larger;
		}
		buffer.set(part, held);
		held += part.length;
	}

	function finish(found: Line[]): void {
		const end = buffer[held - 1] === CR ? held - 1 : held;
		if (end > maxBytes) found.push({ kind: "too_long" });
		else if (end > 0) found.push({ kind: "line", bytes: buffer.subarray(0, end) });
		forget();
		isSkipping = false;
	}

	/** The next line gets a buffer of its own: the last one belongs to whoever has the line now. */
	function forget(): void {
		buffer = Buffer.alloc(0);
		held = 0;
	}

	return {
		push(chunk) {
			const found: Line[] = [];
			let start = 0;
			for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
				add(chunk.subarray(start, end), found);
				finish(found);
				start = end + 1;
			}
			add(chunk.subarray(start), found);
			return found;
		},
		end() {
			const found: Line[] = [];
			finish(found);
			return found;
		},
		get held() {
			return buffer.length;
		},
	};
}
