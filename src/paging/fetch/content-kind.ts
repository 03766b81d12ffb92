import { declaredCharset } from "./charset.ts";
import { hasPdfHeader, isPdfType, isSurelyPdf, parseMediaType } from "./media-type.ts";

/** How content is read: converted to markdown, as it is, page by page, or not at all. */
export type ContentKind = "html" | "text" | "pdf" | "binary";

/**
 * What content is, by its bytes, the `Content-Type` it came with and, without one, its name. A PDF header at the
 * beginning beats any type, one behind junk only if the content is no text: a text may just mention it. Bytes that
 * are not text (see {@link isText}) are binary whatever the type says. A type that says nothing (missing,
 * `application/octet-stream`, unknown) leaves it to the bytes; there, only a whole document is HTML: a fragment is
 * more often Markdown. Content called a PDF is `pdf` even if it is none: its reader says so.
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
	// Servers that go by the extension send TypeScript as MPEG video, and SVG is XML.
	if (type === "video/mp2t" || type === "image/svg+xml") return false;
	return /^(image|audio|video|font)\/|^application\/(x-)?(zip|gzip|bzip2?|tar|7z-compressed|wasm)$/.test(
		type,
	);
}

/** Types that are text by definition. They are never taken for HTML, so that sources can be read as they are. */
function isTextType(type: string): boolean {
	return /^text\/|[/+](x-)?(json|ndjson|xml|yaml|javascript|ecmascript|typescript|csv)$/.test(type);
}

/** Enough to judge by; git looks at as much to tell text from binary. */
const SAMPLE_BYTES = 8192;

function decodeSample(bytes: Buffer, charset: string): string {
	// As a stream, so that a character cut at the end of the sample is not an error.
	return new TextDecoder(charset).decode(bytes.subarray(0, SAMPLE_BYTES), { stream: true });
}

/**
 * Whether bytes are text. A byte order mark decides. Otherwise the sample must be readable in the declared charset,
 * or in UTF-8 if that fits. Other bytes are text in an undeclared charset by the rule of browsers: unless there is a
 * byte at the beginning that no text has. `charset` is the declared one.
 */
function isText(bytes: Buffer, sample: string, charset: string | undefined): boolean {
	if (hasByteOrderMark(bytes)) return true;
	if (charset === undefined && sample.includes("\ufffd")) return !hasBinaryByte(bytes);
	return isReadable(sample);
}

function hasByteOrderMark(bytes: Buffer): boolean {
	return ["efbbbf", "feff", "fffe"].some((mark) => bytes.toString("hex", 0, 3).startsWith(mark));
}

/** Whether one of the first bytes is a "binary data byte" (WHATWG, MIME Sniffing); none above 0x7F is. */
function hasBinaryByte(bytes: Buffer): boolean {
	return bytes
		.subarray(0, SNIFFED_BYTES)
		.some((byte) => byte < 0x20 && !TEXT_CONTROLS.includes(byte));
}

/** How much of a resource the standard looks at. */
const SNIFFED_BYTES = 1445;
/** Tab, line feed, form feed, carriage return, escape. */
const TEXT_CONTROLS = [0x09, 0x0a, 0x0c, 0x0d, 0x1b];

/** Above this share of invalid or control characters, content is binary. */
const MAX_UNREADABLE_SHARE = 0.3;

function isReadable(sample: string): boolean {
	if (sample.includes("\0")) return false;
	// Tab, line ends, form feed and escape (coloured logs) are text.
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is counted
	const unreadable = sample.match(/[\u0001-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g);
	return (unreadable?.length ?? 0) <= sample.length * MAX_UNREADABLE_SHARE;
}

/** The start of an HTML document, after any XML declaration and comments. */
const HTML_DOCUMENT =
	/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]/i;
