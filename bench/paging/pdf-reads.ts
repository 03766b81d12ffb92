/** The two ways in which benchmarks read a PDF. They check that they got its pages. */
import type { PdfEngine } from "../../src/paging/pdf/pdf-engine.ts";

/** A document whose pages begin with "Page <number>". */
export interface NumberedPdf {
	bytes: Buffer;
	pages: number;
}

/** Opens the document and reads pages up to so many characters, at least the first. */
export async function readFirst(
	engine: PdfEngine,
	{ bytes, pages }: NumberedPdf,
	maxChars = 1,
): Promise<void> {
	const document = await engine.open(bytes);
	const [page] = await document.pages(1, Math.min(pages, MAX_FIRST_PAGES), { maxChars });
	document.close();
	if (!page?.text.startsWith("Page 1\n")) throw new Error("the first page was not read");
}

const MAX_FIRST_PAGES = 20;

/** Opens the document and reads all of its pages, `maxChars` characters a call. */
export async function readAll(
	engine: PdfEngine,
	{ bytes, pages }: NumberedPdf,
	maxChars = Number.POSITIVE_INFINITY,
): Promise<void> {
	const document = await engine.open(bytes);
	let next = 1;
	while (next <= pages) {
		const read = await document.pages(next, pages, { maxChars });
		if (read.length === 0) throw new Error(`there is nothing from page ${next} on`);
		for (const { text } of read) {
			if (!text.startsWith(`Page ${next}\n`)) throw new Error(`page ${next} was not read`);
			next++;
		}
	}
	document.close();
}
