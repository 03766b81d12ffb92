const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d];
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d];

/** Bounds the work for a message, however long it is. Agents and providers put the type first. */
export const LOOKED_AT_BYTES = 64 * 1024;

/**
 * The `type` of a JSON object, of the outermost one. Empty if it has none; `undefined` if it may have
 * one behind the bytes that are looked at.
 */
export function messageType(message: Uint8Array): string | undefined {
	const end = Math.min(message.length, LOOKED_AT_BYTES);
	let depth = 0;
	let isValue = false;
	let isType = false;
	for (let at = 0; at < end; at++) {
		const byte = message[at];
		if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
		else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
		else if (byte === QUOTE) {
			const start = at + 1;
			at = endOfString(message, start, end);
			if (depth !== 1 || at === end) continue;
			if (!isValue) isType = at - start === 4 && textOf(message, start, at) === "type";
			else if (isType) return textOf(message, start, at);
		} else if (depth === 1 && byte === COLON) isValue = true;
		else if (depth === 1 && byte === COMMA) isValue = false;
	}
	return end < message.length ? undefined : "";
}

/** Where the quote is that ends a string; `end` without one. */
function endOfString(message: Uint8Array, start: number, end: number): number {
	for (let at = start; at < end; at++) {
		const byte = message[at];
		if (byte === QUOTE) return at;
		if (byte === BACKSLASH) at++;
	}
	return end;
}

/** Names of types are ASCII. */
function textOf(message: Uint8Array, start: number, end: number): string {
	let text = "";
	for (let at = start; at < end; at++) text += String.fromCharCode(message[at] ?? 0);
	return text;
}
