import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import { WINDOWS_1252 } from "../extract/entities.ts";
import { guessCharset, isIso2022Jp } from "./guess-charset.ts";
import { isArchive } from "./magic.ts";

/**
 * Decides by the bytes, the `Content-Type` and, without one, the name. Zip and gzip are known by their first bytes. A PDF header at the start overrides
 * any type; after junk it counts only if the bytes are not text. Bytes that are not text are binary, whatever
 * the type. For an unspecific type the bytes decide: only a whole document is HTML, since a fragment is more
 * often Markdown. Content declared as a PDF is `pdf` even if it is not one; the PDF reader reports that.
 */
export function detectKind(bytes: Buffer, contentType: string | undefined, name = "") {
	const { type } = parseMediaType(contentType);
	if (isArchive(bytes)) return "archive";
	if (isPdfType(type) || isSurelyPdf(bytes)) return "pdf";
	const hasHeader = hasPdfHeader(bytes);
	if (hasHeader && type === "" && /\.pdf$/i.test(name)) return "pdf";
	if (isBinaryType(type)) return "binary";
	const isHtml = type === "text/html" || type === "application/xhtml+xml";
	const charset = declaredCharset(bytes, { contentType, isHtml: isHtml || !isTextType(type) });
	// `stream`: the end of the sample may split a character, which is not an error.
	const decoder = new TextDecoder(charset ?? "utf-8");
	const sample = decoder.decode(bytes.subarray(0, SAMPLE_BYTES), { stream: true });
	if (!isText(bytes, sample, charset)) return hasHeader ? "pdf" : "binary";
	if (isHtml) return "html";
	return !isTextType(type) && HTML_DOCUMENT.test(sample) ? "html" : "text";
}

function isBinaryType(type: string): boolean {
	// Some servers send TypeScript as MPEG video (by its extension), and SVG is XML.
	if (type === "video/mp2t" || type === "image/svg+xml") return false;
	return /^(image|audio|video|font)\/|^application\/(x-)?(zip|gzip|bzip2?|tar|7z-compressed|wasm)$/.test(
		type,
	);
}

/** True for types that are text by definition. These are not checked for HTML: sources stay as they are. */
function isTextType(type: string): boolean {
	return /^text\/|[/+](x-)?(json|ndjson|xml|yaml|javascript|ecmascript|typescript|csv)$/.test(type);
}

/** About as many bytes as git examines to detect binary files. */
const SAMPLE_BYTES = 8192;

// A byte order mark means text. A sample with a declared `charset`, or in valid UTF-8, must be
// readable. Otherwise browsers' rule for undeclared charsets applies: no binary byte at the start.
function isText(bytes: Buffer, sample: string, charset: string | undefined): boolean {
	if (/^(?:efbbbf|feff|fffe)/.test(bytes.toString("hex", 0, 3))) return true;
	if (charset !== undefined || !sample.includes("\ufffd")) return isReadable(sample);
	return !BINARY_BYTE.test(bytes.toString("latin1", 0, SNIFFED_BYTES));
}

/** As in the WHATWG MIME Sniffing standard: tab, line feed, form feed, return, escape are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the target
const BINARY_BYTE = /[\0-\x08\v\x0e-\x1a\x1c-\x1f]/;
/** Length of the resource header in that standard. */
const SNIFFED_BYTES = 1445;

/** A larger share of invalid or control characters makes content binary. */
const MAX_UNREADABLE_SHARE = 0.3;

function isReadable(sample: string): boolean {
	if (sample.includes("\0")) return false;
	// Tab, line ends, form feed and escape (coloured logs) are text.
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are counted
	const unreadable = sample.match(/[\u0001-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g);
	return (unreadable?.length ?? 0) <= sample.length * MAX_UNREADABLE_SHARE;
}

const HTML_DOCUMENT =
	/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]/i;

/** Lenient: never throws. Returns lower case; `type` is empty if the header has none. */
export function parseMediaType(contentType: string | undefined) {
	const header = contentType?.toLowerCase() ?? "";
	const type = /^\s*([^\s;,/]+\/[^\s;,]+)/.exec(header)?.[1] ?? "";
	const charset = /;\s*charset\s*=\s*["']?([^\s"';,]+)/.exec(header)?.[1];
	return { type, charset };
}

/** Junk may precede the header. A text about PDFs may contain it too. */
export function hasPdfHeader(bytes: Buffer): boolean {
	return bytes.subarray(0, 1024).includes("%PDF-");
}

/** True if the bytes start with the PDF header, or if the mark for binary content follows it. */
function isSurelyPdf(bytes: Buffer): boolean {
	if (!hasPdfHeader(bytes)) return false;
	const start = bytes.toString("latin1", 0, 1024 + 64);
	if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(start)) return true;
	// The mark is a comment of four or more bytes above 127. If a text quoted the mark, it would be UTF-8.
	const mark = /%PDF-\d\.\d\s+%([\x80-\xff]{4,})/.exec(start)?.[1];
	return mark !== undefined && !isUtf8(Buffer.from(mark, "latin1"));
}

export function isPdfType(type: string): boolean {
	return type === "application/pdf" || type === "application/x-pdf";
}

interface TextSource {
	readonly contentType?: string | undefined;
	/** Whether to look for a `<meta>` charset in the first 1024 bytes. */
	readonly isHtml: boolean;
}

/**
 * Decodes by byte order mark, header, XML declaration or `<meta>`; else as UTF-8 if valid, else by a guess or as
 * windows-1252. Unknown labels are ignored, the mark is removed, invalid bytes become U+FFFD.
 * `charset` is the WHATWG name in lower case.
 */
export function decodeText(bytes: Buffer, source: TextSource): { text: string; charset: string } {
	const charset = charsetOf(bytes, source);
	return { text: createDecoder(charset)(bytes, true), charset };
}

/** Like {@link decodeText}, but for large texts: yields to the event loop between slices. */
export async function decodeInSlices(bytes: Buffer, source: TextSource): Promise<string> {
	const decode = createDecoder(charsetOf(bytes, source));
	const parts: string[] = [];
	for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
		if (at > 0) await setImmediate();
		parts.push(decode(bytes.subarray(at, at + SLICE_BYTES), at + SLICE_BYTES >= bytes.length));
	}
	return parts.join("");
}

/** Decoding a slice takes about 20 ms in the slowest charsets. */
const SLICE_BYTES = 512 * 1024;

function charsetOf(bytes: Buffer, source: TextSource): string {
	const declared = declaredCharset(bytes, source);
	if (declared !== undefined) return declared;
	if (isUtf8(bytes)) return isIso2022Jp(bytes) ? "iso-2022-jp" : "utf-8";
	return guessCharset(bytes) ?? "windows-1252";
}

/** Returns a function that decodes piece by piece. A character may span two pieces. */
function createDecoder(charset: string): (piece: Buffer, isLast: boolean) => string {
	if (charset === "windows-1252") return decodeWindows1252;
	const decoder = new TextDecoder(charset);
	return (piece, isLast) => decoder.decode(piece, { stream: !isLast });
}

/** Returns the declared charset in lower case; `undefined` if there is none, or Node cannot decode it. */
function declaredCharset(bytes: Buffer, { contentType, isHtml }: TextSource): string | undefined {
	const { charset } = parseMediaType(contentType);
	// The sniffer is loaded at the first text: it takes longer to load than the rest of this folder.
	const sniff = require("html-encoding-sniffer") as Sniff;
	const found = sniff(bytes, {
		transportLayerEncodingLabel: charset && canDecode(charset) ? charset : undefined,
		defaultEncoding: NONE,
		maxPrescanBytes: isHtml ? 1024 : 0,
	}).toLowerCase();
	return found === NONE || !canDecode(found) ? undefined : found;
}

const NONE = "none";

type Sniff = (
	bytes: Uint8Array,
	options: {
		transportLayerEncodingLabel: string | undefined;
		defaultEncoding: string;
		maxPrescanBytes: number;
	},
) => string;

const require = createRequire(import.meta.url);

function canDecode(label: string): boolean {
	try {
		new TextDecoder(label);
		return true;
	} catch {
		// Trying is the only way to find out which labels this Node knows.
		return false;
	}
}

const CODES_1252 = Uint16Array.from({ length: 256 }, (_, byte) =>
	byte >= 0x80 && byte <= 0x9f ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte,
);

/** Some versions of Node decode windows-1252 as Latin-1 (nodejs/node#56542, #60888). */
function decodeWindows1252(bytes: Buffer): string {
	// Uses a table, since replacing single characters takes seconds for 10 MB of such bytes.
	const units = new Uint16Array(bytes.length);
	for (let at = 0; at < bytes.length; at++) units[at] = CODES_1252[bytes[at] as number] as number;
	return Buffer.from(units.buffer).toString("utf16le");
}
