/** What went wrong with a read, for callers that branch on it. */
export type PagingErrorCode =
	/** the address cannot be understood */
	| "invalid_uri"
	/** neither http, https, file nor a path */
	| "unsupported_scheme"
	/** a private, loopback or otherwise special network address */
	| "address_refused"
	| "too_many_redirects"
	/** more bytes than the limit allows, on the wire or unpacked */
	| "too_large"
	| "timeout"
	/** the server answered, but not with the resource */
	| "http_status"
	/** no usable answer came at all */
	| "network"
	/** binary content that is not a PDF */
	| "not_text"
	/** called a PDF, but is none, or is damaged beyond reading */
	| "not_a_pdf"
	/** a PDF that asks for a password */
	| "encrypted_pdf"
	| "cursor_malformed"
	/** a cursor that belongs to another resource */
	| "cursor_foreign"
	/** a path that leads out of the allowed folders */
	| "outside_root"
	| "not_found"
	/** a folder, device, pipe or socket */
	| "not_a_file"
	| "invalid_max_chars"
	/** pages that the document does not have */
	| "invalid_pages"
	| "aborted";

/** An error that a reader shows to whoever asked: its message names the value that was wrong and what to do. */
export class PagingError extends Error {
	readonly code: PagingErrorCode;

	constructor(code: PagingErrorCode, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "PagingError";
		this.code = code;
	}
}

/** The error for what is over its limit, a number of bytes. */
export function tooLarge(name: string, limit: number): PagingError {
	return new PagingError(
		"too_large",
		`${name} is larger than the limit of ${inUnits(limit)}. The user can raise the limit: paging in their own strata.json.`,
	);
}

/** Limits are set in bytes, and their defaults are whole millions. */
const MEGABYTE = 1_000_000;

function inUnits(bytes: number): string {
	return bytes < MEGABYTE ? `${bytes} bytes` : `${Math.round((bytes / MEGABYTE) * 10) / 10} MB`;
}
