import { isUtf8 } from "node:buffer";

/** What a `Content-Type` header says, in lower case. */
export interface MediaType {
	/** `text/html`; empty when the header is missing or has no type. */
	type: string;
	charset?: string;
}

/** Reads a `Content-Type` header as leniently as servers write it; never throws. */
export function parseMediaType(contentType: string | undefined): MediaType {
	const header = contentType?.toLowerCase() ?? "";
	const type = /^\s*([^\s;,/]+\/[^\s;,]+)/.exec(header)?.[1] ?? "";
	const charset = /;\s*charset\s*=\s*["']?([^\s"';,]+)/.exec(header)?.[1];
	return charset === undefined ? { type } : { type, charset };
}

/**
 * Whether there is the header of a PDF in the first kilobyte: a file may carry junk before it. A text about PDFs may
 * have it as well.
 */
export function hasPdfHeader(bytes: Buffer): boolean {
	return bytes.subarray(0, 1024).includes("%PDF-");
}

/** Whether bytes can only be a PDF: they begin with its header, or it is followed by its mark for binary content. */
export function isSurelyPdf(bytes: Buffer): boolean {
	if (!hasPdfHeader(bytes)) return false;
	const start = bytes.toString("latin1", 0, 1024 + 64);
	if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(start)) return true;
	// A comment of four or more bytes above 127. Quoted in a text it would be UTF-8.
	const mark = /%PDF-\d\.\d\s+%([\x80-\xff]{4,})/.exec(start)?.[1];
	return mark !== undefined && !isUtf8(Buffer.from(mark, "latin1"));
}

/** Whether a media type is one of those PDFs are sent with. */
export function isPdfType(type: string): boolean {
	return type === "application/pdf" || type === "application/x-pdf";
}
