import { minChunkChars, splitsPair } from "./chunk.ts";
import {
	type Cursor,
	type Digest,
	decodeCursor,
	digest,
	encodeCursor,
	noSuchPlace,
	type Position,
} from "./cursor.ts";
import { PagingError } from "./errors.ts";
import {
	createLibrary,
	type ReaderOptions,
	type Resource,
	type TextResource,
	textResource,
} from "./library.ts";
import { readPdfChunk } from "./pdf-chunk.ts";
import { maxUriLength } from "./uri.ts";

export interface PageRequest {
	/** An `http(s):` or `file:` address, or a path below the root. */
	uri: string;
	/** `next_cursor` of an earlier answer. Default: the beginning. */
	cursor?: string | undefined;
	/** Largest `content` in UTF-16 units: 64 to 20,000 (more is clamped). Default: 8,000. */
	max_chars?: number | undefined;
	/** Pages of a PDF, from 1; `last` also applies when continuing. */
	pages?: { first?: number | undefined; last?: number | undefined } | undefined;
}

/** Chunks joined in order are the whole extracted text. */
export interface PageAnswer {
	uri: string;
	content: string;
	truncated: boolean;
	next_cursor?: string;
	content_type?: string;
	kind?: "html" | "text" | "pdf" | "unknown";
	page_info?: { page_start: number; page_end: number; total_pages: number };
	title?: string;
	final_uri?: string;
	/** Of the whole text; unknown for a PDF. */
	total_chars?: number;
	/** The cursor was unusable, so this is the first chunk. */
	cursor_reset?: boolean;
	cursor_reason?: "content_changed";
	/** The page was too much for the good conversion. */
	degraded?: boolean;
	warning?: string;
}

/** One per root. It holds a cache and worker threads: close it. */
export interface Reader {
	/** Throws only {@link PagingError}. */
	read(request: PageRequest, signal?: AbortSignal): Promise<PageAnswer>;
	close(): Promise<void>;
}

const defaultChars = 8_000;
const maxChars = 20_000;
/** Part of every cursor: raise it when extraction changes, so that old positions are not reused. */
const EXTRACTOR_VERSION = 2;

export function createReader(options: ReaderOptions): Reader {
	const library = createLibrary(options);
	return {
		async read(request, signal) {
			checkUri(request.uri);
			const asked = parsed(request);
			const target = await library.find(request.uri);
			const address = digest(JSON.stringify([EXTRACTOR_VERSION, options.root, target.key]));
			// Continuing to read prolongs the resource's life.
			return library.use({ ...target, signal, sinceLoad: !asked.cursor }, (resource) =>
				answerFrom(resource, asked, address, signal),
			);
		},
		close: library.close,
	};
}

/** Reads a given text verbatim in chunks; `uri` is only its name. Throws {@link PagingError}. */
export async function readText(text: string, request: PageRequest): Promise<PageAnswer> {
	const asked = parsed(request);
	const address = digest(JSON.stringify([EXTRACTOR_VERSION, request.uri]));
	const resource = await textResource("text", text, { validators: undefined });
	return await answerFrom(resource, asked, address);
}

function parsed(request: PageRequest) {
	const size = chunkSize(request.max_chars);
	const cursor = request.cursor === undefined ? undefined : decodeCursor(request.cursor);
	return { request, size, cursor };
}

async function answerFrom(
	resource: Resource,
	{ request, size, cursor }: ReturnType<typeof parsed>,
	address: Digest,
	signal?: AbortSignal,
): Promise<PageAnswer> {
	const { position, reset } = startOf(resource, cursor, address, request.pages?.first);
	const { last: lastPage } = request.pages ?? {};
	const { next, ...body } =
		resource.kind === "pdf"
			? await readPdfChunk(resource.pages, { page: 1, ...position, size, lastPage }, signal)
			: textChunk(resource, position.char, size);
	return {
		uri: request.uri,
		...body,
		truncated: next !== undefined,
		...(next && {
			next_cursor: encodeCursor({ resource: address, content: resource.content, position: next }),
		}),
		...about(resource),
		...(reset && { cursor_reset: true, cursor_reason: "content_changed" as const }),
	};
}

/** Untyped callers may send anything. */
function checkUri(uri: unknown): void {
	if (typeof uri === "string") return;
	throw new PagingError(
		"invalid_uri",
		`uri must be a text, a web address, a file: address or a path, got ${uri === null ? "null" : typeof uri}`,
	);
}

function chunkSize(asked: number | undefined): number {
	if (asked === undefined) return defaultChars;
	if (!Number.isInteger(asked) || asked < minChunkChars) {
		throw new PagingError(
			"invalid_max_chars",
			`max_chars must be a whole number of at least ${minChunkChars}, got ${asked}`,
		);
	}
	return Math.min(asked, maxChars);
}

// A cursor holds for its content under any address; another resource's cursor is an error.
function startOf(
	resource: Resource,
	cursor: Cursor | undefined,
	address: Digest,
	firstPage = 1,
): { position: Position; reset: boolean } {
	const start: Position =
		resource.kind === "pdf" ? { kind: "pdf", page: firstPage, char: 0 } : { kind: "text", char: 0 };
	if (!cursor) return { position: start, reset: false };
	if (cursor.content === resource.content && cursor.position.kind === start.kind) {
		return { position: cursor.position, reset: false };
	}
	if (cursor.resource !== address) {
		throw new PagingError(
			"cursor_foreign",
			"this cursor belongs to another resource: use it with the uri it was given for, or read without a cursor",
		);
	}
	return { position: start, reset: true };
}

function textChunk({ text, chunker }: TextResource, start: number, size: number) {
	if (start > 0 && (start >= text.length || splitsPair(text, start))) throw noSuchPlace("text");
	const end = text.length === 0 ? 0 : chunker.end(start, size);
	return {
		content: text.slice(start, end),
		total_chars: text.length,
		...(end < text.length && { next: { kind: "text" as const, char: end } }),
	};
}

/** All of it is untrusted text: overlong values are dropped or cut, titles where they are read. */
function about(resource: Resource) {
	const { kind, contentType, title, finalUri } = resource;
	return {
		kind,
		...(contentType !== undefined && { content_type: contentType.slice(0, 200) }),
		...(title && { title }),
		...(finalUri !== undefined && finalUri.length <= maxUriLength && { final_uri: finalUri }),
		...(resource.kind !== "pdf" && resource.degraded && { degraded: true }),
	};
}

export const instructions: readonly string[] = [
	"The `read` tool may return `truncated=true` with a `next_cursor`.",
	"To continue reading the same resource, call `read` again with the same `uri` and `cursor=next_cursor`.",
	"Stop when `truncated=false`.",
	"Prefer reading only as much as you need.",
];
