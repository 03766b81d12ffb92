import { declaredCharset } from "./charset.ts";
import { hasPdfHeader, isPdfType, isSurelyPdf, parseMediaType } from "./media-type.ts";

/** How content is read: converted to markdown, as it is, page by page, or not at all. */
export type ContentKind = "html" | "text" | "pdf" | "binary";

/**
 * What content is, by its bytes, the `Content-Type` it came with and, without one, its name. A PDF header at the
 * beginning beats any type, one behind junk only if the content is no text: a text may just mention it. Bytes that
 * are no text in any declared charset are binary whatever the type says. A type that says nothing (missing,
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
	const sample = decodeSample(bytes, { contentType, isHtml: isHtml || !isTextType(type) });
	if (!isReadable(sample)) return hasHeader ? "pdf" : "binary";
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

function decodeSample(
	bytes: Buffer,
	source: { contentType: string | undefined; isHtml: boolean },
): string {
	const charset = declaredCharset(bytes, source) ?? "utf-8";
	// As a stream, so that a character cut at the end of the sample is not an error.
	return new TextDecoder(charset).decode(bytes.subarray(0, SAMPLE_BYTES), { stream: true });
}

/**
 * Above this share of invalid or control characters, content is binary. Western text in an undeclared 8-bit
 * charset stays below a tenth; compressed data is far above.
 */
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
