import { Chunker, isClusterBoundary, MIN_CHUNK_CHARS } from "./chunk.ts";
import { invalidPosition } from "./cursor.ts";
import { PagingError } from "./errors.ts";
import type { PdfDocument, PdfPage } from "./pdf/pdf-engine.ts";

interface PdfChunkQuery {
	readonly page: number;
	readonly char: number;
	readonly size: number;
	/** Default: the document's last page. */
	readonly lastPage?: number | undefined;
	/** Time limit for all pages together. Default: 30 s. */
	readonly budgetMs?: number;
}

/**
 * Returns as many whole pages as fit, or a part of the first page if it does not fit. A page with text begins with
 * its number and ends in a blank line. Following pages without text are included, so that the next chunk is not empty.
 */
export async function readPdfChunk(
	pages: Pick<PdfPageCache, "totalPages" | "get">,
	query: PdfChunkQuery,
	signal?: AbortSignal,
) {
	const { totalPages } = pages;
	const last = Math.min(query.lastPage ?? totalPages, totalPages);
	checkPages(query, last, totalPages);
	const flawed: PdfPage[] = [];
	let { page, char } = query;
	// The time is limited because a document of a few megabytes can claim a million pages without text.
	const end = performance.now() + (query.budgetMs ?? 30_000);
	let content = "";
	let pageEnd = page;

	for (; page <= last; page++, char = 0) {
		if (page > query.page && performance.now() > end) {
			if (content === "") throw noTextInTime(query.page, page);
			break;
		}
		const found = await pages.get(page, query.size, signal);
		const text = textOf(found);
		if (char > 0 && char >= text.length) throw invalidPosition("document");
		if (content !== "" && content.length + text.length - char > query.size) break;
		note(found);
		const stop = text.length - char <= query.size ? text.length : cut(text, char, query.size);
		content += text.slice(char, stop);
		if (stop < text.length) return finish({ page, char: stop });
	}
	for (; page <= last && performance.now() <= end; page++) {
		const found = await pages.get(page, query.size, signal);
		if (textOf(found) !== "") break;
		note(found);
	}
	return finish(page <= last ? { page, char: 0 } : undefined);

	/** Also called for pages without text, so that a scan is reported. */
	function note(found: PdfPage): void {
		pageEnd = found.number;
		if (found.warning) flawed.push(found);
	}

	function finish(next?: { page: number; char: number }) {
		const kinds = Map.groupBy(flawed, (page) => page.warning);
		const warning = Array.from(kinds, ([kind, pages]) => warningText(kind, pages, totalPages)).join(
			" ",
		);
		return {
			content,
			page_info: { page_start: query.page, page_end: pageEnd, total_pages: totalPages },
			...(next && { next: { kind: "pdf" as const, ...next } }),
			...(warning && { warning }),
		};
	}
}

/** Cuts so that the remainder is worth another call: more than just the final blank line. */
function cut(text: string, start: number, size: number): number {
	const chunker = new Chunker(text);
	const end = chunker.end(start, size);
	const isRestBlank = (from: number) => text.slice(from).trim() === "";
	if (!isRestBlank(end)) return end;
	const half = size >> 1;
	const earlier = chunker.end(start, Math.max(MIN_CHUNK_CHARS, half));
	return isRestBlank(earlier) ? (boundaryBefore(text, start, start + half) ?? end) : earlier;
}

/** Returns the last boundary after a space, or else between clusters. `Chunker` cannot cut so little text. */
function boundaryBefore(text: string, start: number, limit: number): number | undefined {
	const places: number[] = [];
	for (let at = limit; text.slice(start, at).trim() !== ""; at--) {
		if (isClusterBoundary(text, start, at)) places.push(at);
	}
	return places.find((at) => text.charAt(at - 1) === " ") ?? places[0];
}

/** Each page with text begins with a mark by which it can be cited. */
const textOf = ({ text, number }: PdfPage) => (text === "" ? "" : `[page ${number}]\n${text}\n\n`);

function checkPages({ page, lastPage }: PdfChunkQuery, last: number, totalPages: number): void {
	const isPage = (value: number) => Number.isSafeInteger(value) && value >= 1;
	if (isPage(page) && page <= last && (lastPage === undefined || isPage(lastPage))) return;
	const asked = lastPage === undefined ? `page ${page}` : `pages ${page} to ${lastPage}`;
	const message = `there is no ${asked}: the document has ${totalPages} pages`;
	throw new PagingError("invalid_pages", message);
}

function noTextInTime(first: number, next: number): PagingError {
	const message = `no text was found in time on the pages ${first} to ${next - 1}: try pages from ${next} on`;
	return new PagingError("timeout", message);
}

function warningText(kind: PdfPage["warning"], pages: PdfPage[], totalPages: number): string {
	if (kind === "unreadable") return `${subject(pages)} damage: nothing could be read there.`;
	return kind === "no_text"
		? `${subject(pages)} no text layer (a scan?), of ${totalPages} in all: the content can only be seen as an image.`
		: `${subject(pages)} a broken character encoding: the text may be garbled.`;
}

function subject(pages: PdfPage[]): string {
	const first = pages[0]?.number ?? 0;
	const last = pages.at(-1)?.number ?? 0;
	if (first === last) return `Page ${first} has`;
	const isRow = last - first + 1 === pages.length;
	return isRow
		? `Pages ${first} to ${last} have`
		: `${pages.length} of the pages ${first} to ${last} have`;
}

/** Pages per message to the worker, since a message costs more than a page. */
const BATCH = 16;
/** Maximum text to cache per document, in UTF-16 units. */
const MAX_CACHED_CHARS = 400_000;

/** Caches the pages of one document, which it reads in batches. Evicts the oldest pages first. */
export class PdfPageCache {
	readonly totalPages: number;
	readonly #document: Pick<PdfDocument, "pages">;
	readonly #pages = new Map<number, PdfPage>();
	cachedChars = 0;

	constructor(document: Pick<PdfDocument, "totalPages" | "pages">) {
		this.totalPages = document.totalPages;
		this.#document = document;
	}

	/** Also fetches the following pages, until the text has `maxChars` in total. */
	async get(page: number, maxChars: number, signal?: AbortSignal): Promise<PdfPage> {
		const found = this.#pages.get(page) ?? (await this.#fetch(page, maxChars, signal));
		if (!found) throw new Error(`page ${page} was not returned`);
		return found;
	}

	async #fetch(page: number, maxChars: number, signal?: AbortSignal) {
		const count = Math.min(BATCH, this.totalPages - page + 1);
		const fetched = await this.#document.pages(page, count, { maxChars }, signal);
		for (const found of fetched) {
			if (this.#pages.has(found.number)) continue;
			this.#pages.set(found.number, found);
			this.cachedChars += found.text.length;
		}
		for (const [number, oldest] of this.#pages) {
			if (this.cachedChars <= MAX_CACHED_CHARS) break;
			this.#pages.delete(number);
			this.cachedChars -= oldest.text.length;
		}
		return fetched.find((found) => found.number === page);
	}
}
