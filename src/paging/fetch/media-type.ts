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

/** Whether bytes are a PDF by their first kilobyte; a file may carry junk before its header. */
export function looksLikePdf(bytes: Buffer): boolean {
	return bytes.subarray(0, 1024).includes("%PDF-");
}

/** Whether a media type is one of those PDFs are sent with. */
export function isPdfType(type: string): boolean {
	return type === "application/pdf" || type === "application/x-pdf";
}
