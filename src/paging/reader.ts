import type { Config } from "../core/config.ts";
import { minChunkChars, splitsPair } from "./chunk.ts";
import {
	type Cursor,
	type Digest,
	decodeCursor,
	digest,
	encodeCursor,
	type Position,
} from "./cursor.ts";
import { PagingError } from "./errors.ts";
import { createLibrary, type LibraryOptions } from "./library.ts";
import { readPdfChunk } from "./pdf-chunk.ts";
import { type PdfResource, type Resource, type TextResource, textResource } from "./resource.ts";
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

export type ReaderOptions = LibraryOptions;

const defaultChars = 8_000;
export const maxChars = 20_000;
/** Part of every cursor: raise it when extraction changes, so that old positions are not reused. */
const EXTRACTOR_VERSION = 2;

export function createReader(options: ReaderOptions): Reader {
	const library = createLibrary(options);
	return {
		async read(request, signal) {
			checkUri(request.uri);
			const size = chunkSize(request.max_chars);
			const cursor = request.cursor === undefined ? undefined : decodeCursor(request.cursor);
			const target = await library.find(request.uri);
			const address = digest(JSON.stringify([EXTRACTOR_VERSION, options.root, target.key]));
			return library.use(target, { signal, continues: cursor !== undefined }, (resource) =>
				answerFrom(resource, { request, size, cursor, address }, signal),
			);
		},
		close: library.close,
	};
}

/** Reads a given text verbatim in chunks; `uri` is only its name. Throws {@link PagingError}. */
export async function readText(text: string, request: PageRequest): Promise<PageAnswer> {
	const size = chunkSize(request.max_chars);
	const cursor = request.cursor === undefined ? undefined : decodeCursor(request.cursor);
	const address = digest(JSON.stringify([EXTRACTOR_VERSION, request.uri]));
	const resource = await textResource("text", text, { validators: undefined });
	return await answerFrom(resource, { request, size, cursor, address });
}

interface ChunkRequest {
	request: PageRequest;
	size: number;
	cursor: Cursor | undefined;
	address: Digest;
}

async function answerFrom(
	resource: Resource,
	{ request, size, cursor, address }: ChunkRequest,
	signal?: AbortSignal,
): Promise<PageAnswer> {
	const from = startOf(resource, cursor, address, request.pages?.first);
	const chunk =
		resource.kind === "pdf"
			? await pdfChunk(resource, from.position, size, request.pages?.last, signal)
			: textChunk(resource, from.position, size);
	const { next, ...body } = chunk;
	return {
		uri: request.uri,
		...body,
		truncated: next !== undefined,
		...(next && {
			next_cursor: encodeCursor({ resource: address, content: resource.content, position: next }),
		}),
		...about(resource),
		...(from.reset && { cursor_reset: true, cursor_reason: "content_changed" as const }),
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

interface Chunk {
	content: string;
	next?: Position;
	page_info?: NonNullable<PageAnswer["page_info"]>;
	warning?: string;
	total_chars?: number;
}

function textChunk({ text, chunker }: TextResource, position: Position, size: number): Chunk {
	const start = position.char;
	if (start > 0 && (start >= text.length || splitsPair(text, start))) {
		throw new PagingError(
			"cursor_malformed",
			"the cursor points to no place in this text: read without a cursor",
		);
	}
	const end = text.length === 0 ? 0 : chunker.end(start, size);
	return {
		content: text.slice(start, end),
		total_chars: text.length,
		...(end < text.length && { next: { kind: "text" as const, char: end } }),
	};
}

async function pdfChunk(
	{ pages }: PdfResource,
	position: Position,
	size: number,
	lastPage: number | undefined,
	signal: AbortSignal | undefined,
): Promise<Chunk> {
	if (position.kind !== "pdf") throw new TypeError("a PDF is read from a page");
	const chunk = await readPdfChunk(pages, { ...position, size, lastPage }, signal);
	const { content, next, pageStart, pageEnd, warning } = chunk;
	return {
		content,
		page_info: { page_start: pageStart, page_end: pageEnd, total_pages: pages.totalPages },
		...(warning !== undefined && { warning }),
		...(next && { next: { kind: "pdf" as const, ...next } }),
	};
}

/** All of it is untrusted text: overlong values are dropped or cut. */
function about(resource: Resource) {
	const { kind, contentType, title, finalUri } = resource;
	return {
		kind,
		...(contentType !== undefined && { content_type: contentType.slice(0, 200) }),
		...(title && { title: firstChars(title, 300) }),
		...(finalUri !== undefined && finalUri.length <= maxUriLength && { final_uri: finalUri }),
		...(resource.kind !== "pdf" && resource.degraded && { degraded: true }),
	};
}

function firstChars(text: string, count: number): string {
	return text.slice(0, splitsPair(text, count) ? count - 1 : count);
}

export function readerOptions({ paging }: Config, root: string): ReaderOptions {
	return {
		root,
		allowRanges: paging.allowRanges,
		useProxy: paging.useProxy,
		ttlMs: paging.ttlMinutes * 60_000,
		maxEntries: paging.maxEntries,
		maxCacheBytes: paging.maxCacheBytes,
		maxBytes: paging.maxWebBytes,
		maxPdfBytes: paging.maxPdfBytes,
		timeoutMs: paging.timeoutSeconds * 1000,
		extractMs: paging.extractSeconds * 1000,
	};
}

export const instructions: readonly string[] = [
	"The `read` tool may return `truncated=true` with a `next_cursor`.",
	"To continue reading the same resource, call `read` again with the same `uri` and `cursor=next_cursor`.",
	"Stop when `truncated=false`.",
	"Prefer reading only as much as you need.",
];
