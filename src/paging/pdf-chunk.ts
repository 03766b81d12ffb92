import { createChunker, isClusterBoundary, minChunkChars } from "./chunk.ts";
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

export interface PdfChunk {
	content: string;
	/** Absent at the end. */
	next?: { page: number; char: number };
	pageStart: number;
	pageEnd: number;
	warning?: string;
}

/**
 * Whole pages as long as they fit, or a part of one that does not. A page with text ends in a blank
 * line. Pages without text after it are read too, so that no cursor leads to nothing.
 */
export async function readPdfChunk(
	pages: Pick<PdfPages, "totalPages" | "get">,
	request: PdfChunkRequest,
	signal?: AbortSignal,
): Promise<PdfChunk> {
	const { totalPages } = pages;
	const last = Math.min(request.lastPage ?? totalPages, totalPages);
	checkPages(request, last, totalPages);
	const notices = new Map<string, number[]>();
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
		if (char > 0 && char >= text.length) throw noSuchPlace();
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
	function note({ number, warning }: PdfPage): void {
		pageEnd = number;
		if (!warning) return;
		const at = notices.get(warning);
		if (at) at.push(number);
		else notices.set(warning, [number]);
	}

	function finish(next: PdfChunk["next"]): PdfChunk {
		const warning = [...notices].map(([kind, at]) => describe(kind, at)).join(" ");
		return {
			content,
			pageStart: request.page,
			pageEnd,
			...(next && { next }),
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

function noSuchPlace(): PagingError {
	return new PagingError(
		"cursor_malformed",
		"the cursor points to no place in this document: read without a cursor",
	);
}

function noTextInTime(first: number, next: number): PagingError {
	return new PagingError(
		"timeout",
		`no text was found in time on the pages ${first} to ${next - 1}: try pages from ${next} on`,
	);
}

function describe(kind: string, pages: number[]): string {
	if (kind === "unreadable") return `${subject(pages)} damage: nothing could be read there.`;
	return kind === "no_text"
		? `${subject(pages)} no text layer (a scan?): its content can only be seen as an image.`
		: `${subject(pages)} a broken character encoding: the text may be garbled.`;
}

function subject(pages: number[]): string {
	const first = pages[0] as number;
	const last = pages.at(-1) as number;
	if (first === last) return `Page ${first} has`;
	const isRow = last - first + 1 === pages.length;
	return isRow
		? `Pages ${first} to ${last} have`
		: `${pages.length} of the pages ${first} to ${last} have`;
}

export interface PdfPages {
	readonly totalPages: number;
	readonly keptChars: number;
	/** Also prefetches the following pages, up to `maxChars` in all. */
	get(page: number, maxChars: number, signal?: AbortSignal): Promise<PdfPage>;
}

/** A message to the worker costs more than a page. */
const BATCH = 16;
/** Per document. */
const MAX_KEPT_CHARS = 400_000;

export function createPdfPages(document: Pick<PdfDocument, "totalPages" | "pages">): PdfPages {
	const kept = new Map<number, PdfPage>();
	let chars = 0;
	return {
		totalPages: document.totalPages,
		get keptChars() {
			return chars;
		},
		async get(page, maxChars, signal) {
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
