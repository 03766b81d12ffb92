import type { PdfDocument, PdfPage } from "./pdf/pdf-engine.ts";

/** The pages of one document, extracted when they are first wanted and kept for a while. */
export interface PdfPages {
	readonly totalPages: number;
	/** Characters of the pages kept at present. */
	readonly keptChars: number;
	/** A page. Those behind it come along, up to `maxChars` in all: who reads one mostly reads on. */
	get(page: number, maxChars: number, signal?: AbortSignal): Promise<PdfPage>;
}

/** A message to the worker costs more than a page, so some are asked for at a time. */
const BATCH = 16;
/** How much text is kept of one document. */
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
