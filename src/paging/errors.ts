/** Why a read failed. The codes are stable: programs may rely on them. */
export type PagingErrorCode =
	| "invalid_uri"
	| "unsupported_scheme"
	/** private, loopback or another special network address */
	| "address_refused"
	| "too_many_redirects"
	/** larger than the limit, on the wire or unpacked */
	| "too_large"
	| "timeout"
	/** the server did not send the whole resource: a status other than 200 or 203, or an invalid redirect */
	| "http_status"
	| "network"
	/** binary content of a format that is not read */
	| "not_text"
	/** an office document, book or archive that is damaged, encrypted, or too large when unpacked */
	| "bad_document"
	/** declared as a PDF, but damaged or something else */
	| "not_a_pdf"
	| "encrypted_pdf"
	| "cursor_malformed"
	| "cursor_foreign"
	| "outside_root"
	/** a file that the settings exclude */
	| "excluded"
	| "not_found"
	/** a folder, device, pipe or socket */
	| "not_a_file"
	| "invalid_max_chars"
	| "invalid_pages"
	| "aborted";

/** Thrown when a read fails. The message names the wrong value and says what to do. */
export class PagingError extends Error {
	readonly code: PagingErrorCode;

	constructor(code: PagingErrorCode, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "PagingError";
		this.code = code;
	}
}

export function tooLarge(name: string, limitBytes: number): PagingError {
	const message = `${name} is larger than the limit of ${formatBytes(limitBytes)}. The user can raise the limit: paging in their own strata.json.`;
	return new PagingError("too_large", message);
}

/** Bounds the length of the text that an error message quotes. */
export function truncate(text: string, maxChars = 200): string {
	return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/** Decimal, since the default limits are whole millions of bytes. */
const MEGABYTE = 1_000_000;

function formatBytes(bytes: number): string {
	return bytes < MEGABYTE ? `${bytes} bytes` : `${Math.round((bytes / MEGABYTE) * 10) / 10} MB`;
}
