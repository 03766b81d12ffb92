import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import { parseMediaType } from "./media-type.ts";

/** What surrounds the bytes of a text. */
export interface TextSource {
	/** The `Content-Type` header as it came. */
	contentType?: string | undefined;
	/** Look for a `<meta>` that names the charset, in the first 1024 bytes. */
	isHtml: boolean;
}

/**
 * Decodes a text: by its byte order mark, else the charset of the header, else that of an XML declaration or
 * `<meta>`, else as UTF-8 if the bytes are valid UTF-8, else as windows-1252. A label that nobody knows is passed
 * over. The mark is removed; what is invalid becomes U+FFFD. `charset` is the WHATWG name in lower case.
 */
export function decodeText(bytes: Buffer, source: TextSource): { text: string; charset: string } {
	const charset = charsetOf(bytes, source);
	return { text: createDecoder(charset)(bytes, true), charset };
}

/** {@link decodeText} for texts of any size: gives the event loop a turn between the pieces. */
export async function decodeInSlices(bytes: Buffer, source: TextSource): Promise<string> {
	const decode = createDecoder(charsetOf(bytes, source));
	const parts: string[] = [];
	for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
		if (at > 0) await setImmediate();
		parts.push(decode(bytes.subarray(at, at + SLICE_BYTES), at + SLICE_BYTES >= bytes.length));
	}
	return parts.join("");
}

/** Some 20 ms for the slowest charsets. */
const SLICE_BYTES = 512 * 1024;

function charsetOf(bytes: Buffer, source: TextSource): string {
	return declaredCharset(bytes, source) ?? (isUtf8(bytes) ? "utf-8" : "windows-1252");
}

/** Decodes one piece after the other; characters may lie across two. */
function createDecoder(charset: string): (piece: Buffer, isLast: boolean) => string {
	if (charset === "windows-1252") return decodeWindows1252;
	const decoder = new TextDecoder(charset); // it also removes the mark
	return (piece, isLast) => decoder.decode(piece, { stream: !isLast });
}

/** The charset that bytes or header name, in lower case; undefined when neither names one that can be decoded. */
export function declaredCharset(
	bytes: Buffer,
	{ contentType, isHtml }: TextSource,
): string | undefined {
	const { charset } = parseMediaType(contentType);
	const sniff = loadSniffer();
	const found = sniff(bytes, {
		...(charset !== undefined && canDecode(charset)
			? { transportLayerEncodingLabel: charset }
			: {}),
		defaultEncoding: NONE,
		maxPrescanBytes: isHtml ? 1024 : 0,
	}).toLowerCase();
	return found === NONE || !canDecode(found) ? undefined : found;
}

const NONE = "none";

type Sniff = (
	bytes: Uint8Array,
	options: {
		transportLayerEncodingLabel?: string;
		defaultEncoding: string;
		maxPrescanBytes: number;
	},
) => string;

let sniffer: Sniff | undefined;

/** Loaded at the first text: it takes longer to load than the rest of this folder together. */
function loadSniffer(): Sniff {
	sniffer ??= createRequire(import.meta.url)("html-encoding-sniffer") as Sniff;
	return sniffer;
}

function canDecode(label: string): boolean {
	try {
		new TextDecoder(label);
		return true;
	} catch {
		// The one way to learn which labels this Node knows.
		return false;
	}
}

/** Bytes 0x80 to 0x9F, where windows-1252 differs from Latin-1. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f" + "\u0090‘’“”•–—˜™š›œ\u009džŸ";

const CODES_1252 = Uint16Array.from({ length: 256 }, (_, byte) =>
	byte >= 0x80 && byte <= 0x9f ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte,
);

/** TextDecoder decodes these bytes as Latin-1 on some versions of Node (nodejs/node#56542, #60888). */
function decodeWindows1252(bytes: Buffer): string {
	// By a table: a replacement for each character takes seconds where all 10 MB are such bytes.
	const units = new Uint16Array(bytes.length);
	for (let at = 0; at < bytes.length; at++) units[at] = CODES_1252[bytes[at] as number] as number;
	return Buffer.from(units.buffer).toString("utf16le");
}
