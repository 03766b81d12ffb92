import { isUtf8 } from "node:buffer";

export interface MediaType {
	/** Empty without a type. */
	type: string;
	charset?: string;
}

/** Lenient and in lower case; never throws. */
export function parseMediaType(contentType: string | undefined): MediaType {
	const header = contentType?.toLowerCase() ?? "";
	const type = /^\s*([^\s;,/]+\/[^\s;,]+)/.exec(header)?.[1] ?? "";
	const charset = /;\s*charset\s*=\s*["']?([^\s"';,]+)/.exec(header)?.[1];
	return charset === undefined ? { type } : { type, charset };
}

/** Junk may precede the header, and a text about PDFs may contain it. */
export function hasPdfHeader(bytes: Buffer): boolean {
	return bytes.subarray(0, 1024).includes("%PDF-");
}

/** The bytes start with the PDF header, or its mark for binary content follows it. */
export function isSurelyPdf(bytes: Buffer): boolean {
	if (!hasPdfHeader(bytes)) return false;
	const start = bytes.toString("latin1", 0, 1024 + 64);
	if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(start)) return true;
	// A comment of four or more bytes above 127. Quoted in a text it would be UTF-8.
	const mark = /%PDF-\d\.\d\s+%([\x80-\xff]{4,})/.exec(start)?.[1];
	return mark !== undefined && !isUtf8(Buffer.from(mark, "latin1"));
}

export function isPdfType(type: string): boolean {
	return type === "application/pdf" || type === "application/x-pdf";
}
