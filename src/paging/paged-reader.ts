import { encodePageToken } from "../core/read-input.ts";
import { MIN_CHUNK_CHARS, splitsPair } from "./chunk.ts";
import {
	type Cursor,
	type Digest,
	decodeCursor,
	digest,
	encodeCursor,
	invalidPosition,
	type Position,
} from "./cursor.ts";
import { PagingError } from "./errors.ts";
import { leftOutLine } from "./extract/left-out.ts";
import { isMarkdown, markdownSection } from "./markdown-section.ts";
import { readPdfChunk } from "./pdf-chunk.ts";
import {
	type PagedReaderOptions,
	type PdfResource,
	type Resource,
	ResourceLoader,
	type TextResource,
	textResource,
} from "./resource-loader.ts";
import { MAX_URI_CHARS, pagesOf, splitFragment } from "./uri.ts";

/** Selects a resource, a position in it and the size of the chunk. */
export interface ChunkQuery {
	/** An `http(s):` or `file:` address, or a path below the root. */
	readonly uri: string;
	/** `next_cursor` of an earlier chunk. Default: the beginning. */
	readonly cursor?: string | undefined;
	/** Maximum length of `content` in UTF-16 units: at least 64, clamped to 20,000. Default: 8,000. */
	readonly max_chars?: number | undefined;
	/** The pages of a PDF to read, counted from 1. `last` also applies if there is a `cursor`. */
	readonly pages?: { first?: number | undefined; last?: number | undefined } | undefined;
	/** True for the whole page, not only its main text, for hidden parts of documents, and for data as it is stored. */
	readonly everything?: boolean | undefined;
	/** The password of an encrypted PDF. */
	readonly password?: string | undefined;
}

/** One answer of paging. Chunks joined in order are the whole extracted text. */
export interface Chunk {
	readonly uri: string;
	readonly content: string;
	readonly truncated: boolean;
	readonly next_cursor?: string;
	readonly content_type?: string;
	readonly kind?: "html" | "text" | "pdf" | "document" | "unknown";
	readonly page_info?: { page_start: number; page_end: number; total_pages: number };
	readonly title?: string;
	/** The headings of a PDF's outline with their pages, at most 50. Only in the first chunk. */
	readonly outline?: readonly { title: string; level: number; page: number }[];
	/** As the page names them. */
	readonly author?: string;
	readonly published?: string;
	/** What of the page or document is not in its text, by kind in characters. Only in the first chunk. */
	readonly left_out?: Readonly<Record<string, number>>;
	readonly final_uri?: string;
	/** Length of the whole text in UTF-16 units; absent for a PDF. */
	readonly total_chars?: number;
	/** True if the content changed since the cursor was issued, so this is the first chunk. */
	readonly cursor_reset?: boolean;
	readonly cursor_reason?: "content_changed";
	/** True if the full conversion failed, for example because the page was too large or took too long. */
	readonly degraded?: boolean;
	readonly warning?: string;
}

/** Create one reader per root. It holds a cache and worker threads, so close it after use. */
export interface PagedReader {
	/** Throws only {@link PagingError}. */
	read(query: ChunkQuery, signal?: AbortSignal): Promise<Chunk>;
	close(): Promise<void>;
}

const DEFAULT_CHARS = 8_000;
const MAX_CHARS = 20_000;
/** Part of every cursor. Raise it when extraction changes, so that old positions are not reused. */
const EXTRACTOR_VERSION = 5;

/** Creates a reader for one root. Threads start with the first read that needs them. */
export function createPagedReader(options: PagedReaderOptions): PagedReader {
	const loader = new ResourceLoader(options);
	return {
		async read(query, signal) {
			checkUri(query.uri);
			const parsed = parseQuery(query);
			const { resource: uri, fragment } = splitFragment(query.uri);
			const { everything, password } = query;
			const lookup = await loader.lookup(uri, { everything, password });
			const address = digest(JSON.stringify([EXTRACTOR_VERSION, options.root, lookup.key]));
			// With a cursor, the TTL counts from the last use: a resource stays cached while it is being read.
			return loader.use({ ...lookup, signal, sinceLoad: !parsed.cursor }, (resource) =>
				readChunk(resource, { ...parsed, fragment }, address, signal),
			);
		},
		close: () => loader.close(),
	};
}

/** Reads a given text verbatim in chunks. `uri` only names the text. Throws {@link PagingError}. */
export async function readText(text: string, query: ChunkQuery): Promise<Chunk> {
	const parsed = parseQuery(query);
	const address = digest(JSON.stringify([EXTRACTOR_VERSION, query.uri]));
	const resource = await textResource("text", text, { validators: undefined });
	return await readChunk(resource, parsed, address);
}

function parseQuery(query: ChunkQuery) {
	const size = chunkSize(query.max_chars);
	const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
	return { query, size, cursor };
}

async function readChunk(
	resource: Resource,
	{ query, size, cursor, fragment = "" }: ReturnType<typeof parseQuery> & { fragment?: string },
	address: Digest,
	signal?: AbortSignal,
): Promise<Chunk> {
	const { position, reset } = startPosition(resource, cursor, address, {
		...query.pages,
		fragment,
		uri: splitFragment(query.uri).resource,
	});
	const named = fragment === "" ? undefined : pagesOf(fragment);
	const lastPage = query.pages?.last ?? named?.last;
	const { next, ...body } =
		resource.kind === "pdf"
			? await readPdfChunk(resource.pages, { page: 1, ...position, size, lastPage }, signal)
			: textChunk(resource, position.char, size);
	return {
		uri: query.uri,
		...body,
		truncated: next !== undefined,
		...(next && {
			next_cursor: encodeCursor({ resource: address, content: resource.content, position: next }),
		}),
		...metadataOf(resource, cursor === undefined || reset),
		...(reset && { cursor_reset: true, cursor_reason: "content_changed" as const }),
	};
}

/** Callers without type checks may pass any value. */
function checkUri(uri: unknown): void {
	if (typeof uri === "string") return;
	const message = `uri must be a string (a web address, a file: address or a path), got ${uri === null ? "null" : typeof uri}`;
	throw new PagingError("invalid_uri", message);
}

function chunkSize(maxChars: number | undefined): number {
	if (maxChars === undefined) return DEFAULT_CHARS;
	if (!Number.isInteger(maxChars) || maxChars < MIN_CHUNK_CHARS) {
		const message = `max_chars must be a whole number of at least ${MIN_CHUNK_CHARS}, got ${maxChars}`;
		throw new PagingError("invalid_max_chars", message);
	}
	return Math.min(maxChars, MAX_CHARS);
}

// A cursor is valid for the same content under any address. If the content differs, reading restarts at
// the beginning, but a cursor of another address is an error.
function startPosition(
	resource: Resource,
	cursor: Cursor | undefined,
	address: Digest,
	{ first, fragment, uri }: { first?: number | undefined; fragment: string; uri: string },
): { position: Position; reset: boolean } {
	const start: Position =
		resource.kind === "pdf"
			? {
					kind: "pdf",
					page: first ?? (fragment === "" ? 1 : (pagesOf(fragment)?.first ?? 1)),
					char: 0,
				}
			: { kind: "text", char: sectionStart(resource, uri, fragment) };
	if (!cursor) return { position: start, reset: false };
	if (cursor.content === resource.content && cursor.position.kind === start.kind) {
		return { position: cursor.position, reset: false };
	}
	if (cursor.resource !== address) {
		const message =
			"this cursor belongs to another resource: use it with the uri it was given for, or read without a cursor";
		throw new PagingError("cursor_foreign", message);
	}
	return { position: start, reset: true };
}

/** Where the section with this id starts; 0 if there is none. */
function sectionStart(resource: TextResource, uri: string, fragment: string): number {
	if (fragment === "") return 0;
	const { anchors, text, contentType, finalUri } = resource;
	const found = isMarkdown(contentType, finalUri ?? uri)
		? markdownSection(text, fragment)
		: anchors?.get(fragment);
	const start = found ?? 0;
	return start < text.length && !splitsPair(text, start) ? start : 0;
}

function textChunk({ text, chunker }: TextResource, start: number, size: number) {
	if (start > 0 && (start >= text.length || splitsPair(text, start))) throw invalidPosition("text");
	const end = text.length === 0 ? 0 : chunker.end(start, size);
	return {
		content: text.slice(start, end),
		total_chars: text.length,
		...(end < text.length && { next: { kind: "text" as const, char: end } }),
	};
}

/** The values are untrusted text, so overlong ones are dropped or cut. Titles were cut when extracted. */
function metadataOf(resource: Resource, isFirst: boolean) {
	const { kind, contentType, title, finalUri } = resource;
	return {
		kind,
		...(contentType !== undefined && { content_type: contentType.slice(0, 200) }),
		...(title && { title }),
		...(finalUri !== undefined && finalUri.length <= MAX_URI_CHARS && { final_uri: finalUri }),
		...(resource.kind === "pdf" ? outlineOf(resource, isFirst) : pageFacts(resource, isFirst)),
	};
}

const MAX_OUTLINE = 50;

function outlineOf({ document }: PdfResource, isFirst: boolean) {
	if (!isFirst || document.outline.length === 0) return {};
	return { outline: document.outline.slice(0, MAX_OUTLINE) };
}

function pageFacts({ degraded, author, published, leftOut }: TextResource, isFirst: boolean) {
	const hasLeftOut = isFirst && leftOut !== undefined && Object.keys(leftOut).length > 0;
	return {
		...(degraded && { degraded: true }),
		...(author && { author }),
		...(published && { published }),
		...(hasLeftOut && { left_out: leftOut }),
	};
}

/** A chunk as text for a model, with notes in brackets. `continued` says what to do with a token. */
export function pageText(
	chunk: Chunk,
	query: ChunkQuery,
	continued: (token: string) => string,
): string {
	const { content, kind, cursor_reset, degraded, warning, left_out, outline } = chunk;
	const everything = encodePageToken({ uri: query.uri, everything: true });
	const named = kind === "document" ? "document" : "page";
	const notes = [
		outline && `Outline: ${outline.map(({ title, page }) => `${title} (page ${page})`).join("; ")}`,
		left_out && `Left out: ${leftOutLine(left_out)}. For the whole ${named}, read: ${everything}`,
		cursor_reset && "The content has changed since the last read: this is its beginning.",
		degraded && "This page was too large for the full conversion: its layout may be rough.",
		warning,
		[placeOf(chunk), continuation(chunk, query, continued)].filter(Boolean).join(" "),
	].flatMap((note) => (note ? `[${note}]` : []));
	return [...headOf(chunk, query), content, ...notes].join("\n\n");
}

/** One line about a page, before its first chunk: title, author, date. The address is in the call, unless it changed. */
function headOf(
	{ kind, title, author, published, final_uri }: Chunk,
	{ cursor }: ChunkQuery,
): string[] {
	if (kind !== "html" || cursor !== undefined) return [];
	const facts = [title, author && `by ${author}`, published, final_uri].filter(Boolean);
	return facts.length === 0 ? [] : [`[${facts.join(" · ")}]`];
}

/** The chunk, with a remark instead of its content if the whole resource is blank, not just one chunk of it. */
export function remarkIfBlank(chunk: Chunk, { cursor }: ChunkQuery): Chunk {
	const isFirst = cursor === undefined || chunk.cursor_reset === true;
	const isBlank = isFirst && !chunk.truncated && chunk.content.trimEnd() === "";
	return isBlank ? { ...chunk, content: "[no text]" } : chunk;
}

function placeOf({ page_info: pages, next_cursor, total_chars }: Chunk): string | undefined {
	if (pages) return `Pages ${pages.page_start}-${pages.page_end} of ${pages.total_pages}.`;
	return total_chars !== undefined && next_cursor
		? `Part of ${total_chars} characters.`
		: undefined;
}

function continuation(
	{ next_cursor: cursor }: Chunk,
	{ uri, max_chars: maxChars, pages, everything }: ChunkQuery,
	continued: (token: string) => string,
): string | undefined {
	if (!cursor) return undefined;
	const token = encodePageToken({
		...{ uri, cursor },
		...(maxChars !== undefined && { maxChars }),
		...(pages?.last !== undefined && { lastPage: pages.last }),
		...(everything && { everything }),
	});
	return continued(token);
}

export const instructions: readonly string[] = [
	"The `read` tool may return `truncated=true` with a `next_cursor`.",
	"To continue reading the same resource, call `read` again with the same `uri` and `cursor=next_cursor`.",
	"Stop when `truncated=false`.",
	"Prefer reading only as much as you need.",
];
