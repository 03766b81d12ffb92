import { createChunker, isClusterBoundary, minChunkChars } from "./chunk.ts";
import { noSuchPlace } from "./cursor.ts";
import { PagingError } from "./errors.ts";
import type { PdfDocument, PdfPage } from "./pdf/pdf-engine.ts";

export interface PdfChunkRequest {
	page: number;
	char: number;
	size: number;
	/** Default: the document's last. */
	lastPage?: number | undefined;
	/** For all pages together. Default: 30 s. */
	budgetMs?: number;
}

/**
 * Whole pages as long as they fit, or a part of one that does not. A page with text ends in a blank
 * line. Pages without text after it are read too, so that no cursor leads to nothing.
 */
export async function readPdfChunk(
	pages: Pick<PdfPages, "totalPages" | "get">,
	request: PdfChunkRequest,
	signal?: AbortSignal,
) {
	const { totalPages } = pages;
	const last = Math.min(request.lastPage ?? totalPages, totalPages);
	checkPages(request, last, totalPages);
	const flawed: PdfPage[] = [];
	let { page, char } = request;
	// A document of some megabytes can claim a million pages without text.
	const end = performance.now() + (request.budgetMs ?? 30_000);
	let content = "";
	let pageEnd = page;

	for (; page <= last; page++, char = 0) {
		if (page > request.page && performance.now() > end) {
			if (content === "") throw noTextInTime(request.page, page);
			break;
		}
		const found = await pages.get(page, request.size, signal);
		const text = streamOf(found);
		if (char > 0 && char >= text.length) throw noSuchPlace("document");
		if (content !== "" && content.length + text.length - char > request.size) break;
		note(found);
		const stop = text.length - char <= request.size ? text.length : cut(text, char, request.size);
		content += text.slice(char, stop);
		if (stop < text.length) return finish({ page, char: stop });
	}
	for (; page <= last && performance.now() <= end; page++) {
		const found = await pages.get(page, request.size, signal);
		if (streamOf(found) !== "") break;
		note(found);
	}
	return finish(page <= last ? { page, char: 0 } : undefined);

	/** Counts skipped pages too: otherwise a scan would go unreported. */
	function note(found: PdfPage): void {
		pageEnd = found.number;
		if (found.warning) flawed.push(found);
	}

	/** Without `next` at the end. */
	function finish(next?: { page: number; char: number }) {
		const kinds = Map.groupBy(flawed, (page) => page.warning);
		const warning = Array.from(kinds, ([kind, pages]) => describe(kind, pages)).join(" ");
		return {
			content,
			page_info: { page_start: request.page, page_end: pageEnd, total_pages: totalPages },
			...(next && { next: { kind: "pdf" as const, ...next } }),
			...(warning && { warning }),
		};
	}
}

/** The rest must be worth a call of its own, not just the blank line. */
function cut(text: string, start: number, size: number): number {
	const chunker = createChunker(text);
	const end = chunker.end(start, size);
	const isRestBlank = (from: number) => text.slice(from).trim() === "";
	if (!isRestBlank(end)) return end;
	const half = size >> 1;
	const earlier = chunker.end(start, Math.max(minChunkChars, half));
	return isRestBlank(earlier) ? (placeBefore(text, start, start + half) ?? end) : earlier;
}

/** The last space or cluster boundary, for less text than a chunker can cut. */
function placeBefore(text: string, start: number, limit: number): number | undefined {
	const places: number[] = [];
	for (let at = limit; text.slice(start, at).trim() !== ""; at--) {
		if (isClusterBoundary(text, start, at)) places.push(at);
	}
	return places.find((at) => text.charAt(at - 1) === " ") ?? places[0];
}

function streamOf({ text }: PdfPage): string {
	return text === "" ? "" : `${text}\n\n`;
}

function checkPages({ page, lastPage }: PdfChunkRequest, last: number, totalPages: number): void {
	const isPage = (value: number) => Number.isSafeInteger(value) && value >= 1;
	if (isPage(page) && page <= last && (lastPage === undefined || isPage(lastPage))) return;
	const asked = lastPage === undefined ? `page ${page}` : `pages ${page} to ${lastPage}`;
	throw new PagingError(
		"invalid_pages",
		`there is no ${asked}: the document has ${totalPages} pages`,
	);
}

function noTextInTime(first: number, next: number): PagingError {
	return new PagingError(
		"timeout",
		`no text was found in time on the pages ${first} to ${next - 1}: try pages from ${next} on`,
	);
}

function describe(kind: PdfPage["warning"], pages: PdfPage[]): string {
	if (kind === "unreadable") return `${subject(pages)} damage: nothing could be read there.`;
	return kind === "no_text"
		? `${subject(pages)} no text layer (a scan?): its content can only be seen as an image.`
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

export type PdfPages = ReturnType<typeof createPdfPages>;

/** A message to the worker costs more than a page. */
const BATCH = 16;
/** Per document. */
const MAX_KEPT_CHARS = 400_000;

export function createPdfPages(document: Pick<PdfDocument, "totalPages" | "pages">) {
	const kept = new Map<number, PdfPage>();
	let chars = 0;
	return {
		totalPages: document.totalPages,
		get keptChars() {
			return chars;
		},
		/** Also prefetches the following pages, up to `maxChars` in all. */
		async get(page: number, maxChars: number, signal?: AbortSignal): Promise<PdfPage> {
			const found = kept.get(page) ?? (await fetchFrom(page, maxChars, signal));
			if (!found) throw new Error(`page ${page} did not come`);
			return found;
		},
	};

	async function fetchFrom(page: number, maxChars: number, signal?: AbortSignal) {
		const count = Math.min(BATCH, document.totalPages - page + 1);
		const fetched = await document.pages(page, count, { maxChars }, signal);
		for (const found of fetched) {
			if (kept.has(found.number)) continue;
			kept.set(found.number, found);
			chars += found.text.length;
		}
		for (const [number, oldest] of kept) {
			if (chars <= MAX_KEPT_CHARS) break;
			kept.delete(number);
			chars -= oldest.text.length;
		}
		return fetched.find((found) => found.number === page);
	}
}
