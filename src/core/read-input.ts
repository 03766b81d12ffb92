import { isRecord } from "./property.ts";

/**
 * The `read` tool accepts pi's form (`path`, `offset`, `limit`) and the paging form (`uri`, `cursor`,
 * `max_chars`). The session stores the form that the model wrote, so the tool, the ledger and replay
 * all convert it to pi's form here. In pi's form, `path` holds a continuation as a token:
 * `page:<cursor>;<max_chars>;<last_page>;<uri>`. Fields may be empty; `*` as the last page means everything.
 */
export interface PageToken {
	readonly uri: string;
	readonly cursor?: string;
	readonly maxChars?: number;
	/** The last PDF page to read. */
	readonly lastPage?: number;
	/** The whole page, not only its main text. */
	readonly everything?: boolean;
}

const PREFIX = "page:";

export function encodePageToken({
	uri,
	cursor = "",
	maxChars,
	lastPage,
	everything,
}: PageToken): string {
	// Our cursors have no ";". A malformed cursor must not spill into the fields after it.
	return `${PREFIX}${cursor.replaceAll(";", "%3B")};${maxChars ?? ""};${everything ? "*" : (lastPage ?? "")};${uri}`;
}

export function isPageToken(path: string): boolean {
	return path.startsWith(PREFIX);
}

export function decodePageToken(path: string): PageToken | undefined {
	const match = /^page:([^;]*);(\d*);(\d*|\*);(.+)$/s.exec(path);
	if (!match) return undefined;
	const [, cursor, maxChars, lastPage, uri = ""] = match;
	return {
		uri,
		...(cursor && { cursor }),
		...(maxChars && { maxChars: Number(maxChars) }),
		...(lastPage === "*" ? { everything: true } : lastPage && { lastPage: Number(lastPage) }),
	};
}

/** Whether a path names pages of a PDF, `file.pdf#page=12-15`: these are no symbols. */
export function namesPdfPages(path: string): boolean {
	return /\.pdf#page=[\d-]+$/i.test(path);
}

/** Converts the paging form to pi's form. Returns any other input unchanged, as the same object. */
export function foldReadInput(input: unknown): unknown {
	if (!isRecord(input)) return input;
	const { uri, cursor, max_chars: maxChars, ...rest } = input;
	if (uri === undefined && cursor === undefined && maxChars === undefined) return input;
	const target = typeof uri === "string" ? uri : rest.path;
	if (typeof target !== "string") return rest; // pi's own validation rejects input without a path
	if (isPageToken(target)) return { ...rest, path: withSize(target, maxChars) };
	if (typeof cursor !== "string" && !isSize(maxChars)) return { ...rest, path: target };
	const token = {
		uri: target,
		...(typeof cursor === "string" && { cursor }),
		...(isSize(maxChars) && { maxChars }),
	};
	return { ...rest, path: encodePageToken(token) };
}

function isSize(value: unknown): value is number {
	return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function withSize(token: string, maxChars: unknown): string {
	const decoded = decodePageToken(token);
	return decoded && isSize(maxChars) ? encodePageToken({ ...decoded, maxChars }) : token;
}
