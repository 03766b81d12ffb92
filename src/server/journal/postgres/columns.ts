/** The first byte of no UTF-8 text. */
const UTF16 = 0xff;

/**
 * Postgres refuses NUL in text, and UTF-8 maps all lone surrogates to one character. So names that clients
 * choose are stored as bytes: UTF-8, or UTF-16 behind a mark for what UTF-8 cannot tell apart.
 */
export function toBytes(text: string): Buffer {
	if (text.isWellFormed()) return Buffer.from(text, "utf8");
	return Buffer.concat([Buffer.of(UTF16), Buffer.from(text, "utf16le")]);
}

export function fromBytes(bytes: Uint8Array): string {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return buffer[0] === UTF16 ? buffer.subarray(1).toString("utf16le") : buffer.toString("utf8");
}

/** Keys of server commands have the empty scope; a session's name is never empty here. */
export function keyScope(sessionId: string | undefined): Buffer {
	return sessionId === undefined ? Buffer.alloc(0) : toBytes(`s${sessionId}`);
}
