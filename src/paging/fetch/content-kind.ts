import { declaredCharset } from "./charset.ts";
import { hasPdfHeader, isPdfType, isSurelyPdf, parseMediaType } from "./media-type.ts";

export type ContentKind = "html" | "text" | "pdf" | "binary";

/**
 * Decides by the bytes, the `Content-Type` and, without one, the name. A PDF header at the start
 * beats any type; after junk it counts only in non-text. Bytes that are no text are binary whatever
 * the type. An unspecific type leaves it to the bytes: only a whole document is HTML, a fragment is
 * more often Markdown. Content declared a PDF is `pdf` even if it is none: its reader reports that.
 */
export function kindOf(bytes: Buffer, contentType: string | undefined, name = ""): ContentKind {
	const { type } = parseMediaType(contentType);
	if (isPdfType(type) || isSurelyPdf(bytes)) return "pdf";
	const hasHeader = hasPdfHeader(bytes);
	if (hasHeader && type === "" && /\.pdf$/i.test(name)) return "pdf";
	if (isBinaryType(type)) return "binary";
	const isHtml = type === "text/html" || type === "application/xhtml+xml";
	const charset = declaredCharset(bytes, { contentType, isHtml: isHtml || !isTextType(type) });
	const sample = decodeSample(bytes, charset ?? "utf-8");
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

/** Text by definition, never HTML: sources stay readable as they are. */
function isTextType(type: string): boolean {
	return /^text\/|[/+](x-)?(json|ndjson|xml|yaml|javascript|ecmascript|typescript|csv)$/.test(type);
}

/** git examines as much to detect binary files. */
const SAMPLE_BYTES = 8192;

function decodeSample(bytes: Buffer, charset: string): string {
	// Streaming: a character cut at the end of the sample is no error.
	return new TextDecoder(charset).decode(bytes.subarray(0, SAMPLE_BYTES), { stream: true });
}

// A byte order mark decides. Otherwise the sample must be readable in the declared `charset` or in
// UTF-8. Else browsers' rule for undeclared charsets applies: no binary byte at the beginning.
function isText(bytes: Buffer, sample: string, charset: string | undefined): boolean {
	if (hasByteOrderMark(bytes)) return true;
	if (charset === undefined && sample.includes("\ufffd")) return !hasBinaryByte(bytes);
	return isReadable(sample);
}

function hasByteOrderMark(bytes: Buffer): boolean {
	return ["efbbbf", "feff", "fffe"].some((mark) => bytes.toString("hex", 0, 3).startsWith(mark));
}

/** "Binary data byte" in the WHATWG MIME Sniffing standard; none is above 0x7F. */
function hasBinaryByte(bytes: Buffer): boolean {
	return bytes
		.subarray(0, SNIFFED_BYTES)
		.some((byte) => byte < 0x20 && !TEXT_CONTROLS.includes(byte));
}

/** The length of the standard's resource header. */
const SNIFFED_BYTES = 1445;
/** Tab, line feed, form feed, carriage return, escape. */
const TEXT_CONTROLS = [0x09, 0x0a, 0x0c, 0x0d, 0x1b];

/** More invalid or control characters make content binary. */
const MAX_UNREADABLE_SHARE = 0.3;

function isReadable(sample: string): boolean {
	if (sample.includes("\0")) return false;
	// Tab, line ends, form feed and escape (coloured logs) are text.
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is counted
	const unreadable = sample.match(/[\u0001-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g);
	return (unreadable?.length ?? 0) <= sample.length * MAX_UNREADABLE_SHARE;
}

const HTML_DOCUMENT =
	/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]/i;
