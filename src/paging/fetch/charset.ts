import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import { parseMediaType } from "./media-type.ts";

export interface TextSource {
	contentType?: string | undefined;
	/** Look for a `<meta>` charset in the first 1024 bytes. */
	isHtml: boolean;
}

/**
 * Decodes by byte order mark, header, XML declaration or `<meta>`; else as UTF-8 if valid, else as
 * windows-1252. Unknown labels are ignored, the mark is removed, invalid bytes become U+FFFD.
 * `charset` is the WHATWG name in lower case.
 */
export function decodeText(bytes: Buffer, source: TextSource): { text: string; charset: string } {
	const charset = charsetOf(bytes, source);
	return { text: createDecoder(charset)(bytes, true), charset };
}

/** {@link decodeText} for large texts: yields to the event loop between slices. */
export async function decodeInSlices(bytes: Buffer, source: TextSource): Promise<string> {
	const decode = createDecoder(charsetOf(bytes, source));
	const parts: string[] = [];
	for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
		if (at > 0) await setImmediate();
		parts.push(decode(bytes.subarray(at, at + SLICE_BYTES), at + SLICE_BYTES >= bytes.length));
	}
	return parts.join("");
}

/** About 20 ms in the slowest charsets. */
const SLICE_BYTES = 512 * 1024;

function charsetOf(bytes: Buffer, source: TextSource): string {
	return declaredCharset(bytes, source) ?? (isUtf8(bytes) ? "utf-8" : "windows-1252");
}

/** A character may span two pieces. */
function createDecoder(charset: string): (piece: Buffer, isLast: boolean) => string {
	if (charset === "windows-1252") return decodeWindows1252;
	const decoder = new TextDecoder(charset);
	return (piece, isLast) => decoder.decode(piece, { stream: !isLast });
}

/** Lower case; `undefined` without a charset that can be decoded. */
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

/** Loaded at the first text: it takes longer to load than the rest of this folder. */
function loadSniffer(): Sniff {
	sniffer ??= createRequire(import.meta.url)("html-encoding-sniffer") as Sniff;
	return sniffer;
}

function canDecode(label: string): boolean {
	try {
		new TextDecoder(label);
		return true;
	} catch {
		// The only way to find out which labels this Node knows.
		return false;
	}
}

/** Bytes 0x80 to 0x9F, where windows-1252 differs from Latin-1. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f" + "\u0090‘’“”•–—˜™š›œ\u009džŸ";

const CODES_1252 = Uint16Array.from({ length: 256 }, (_, byte) =>
	byte >= 0x80 && byte <= 0x9f ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte,
);

/** Some versions of Node decode these bytes as Latin-1 (nodejs/node#56542, #60888). */
function decodeWindows1252(bytes: Buffer): string {
	// A table: replacing each character takes seconds for 10 MB of such bytes.
	const units = new Uint16Array(bytes.length);
	for (let at = 0; at < bytes.length; at++) units[at] = CODES_1252[bytes[at] as number] as number;
	return Buffer.from(units.buffer).toString("utf16le");
}
