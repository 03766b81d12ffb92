/**
 * How much of a PDF's text is read, and whether two columns are read one after the other, compared with `pdftotext`
 * (poppler-utils). STRATA_PDFS names a folder with PDFs, for example the unpacked documentation packages of a
 * distribution; a quick run makes a few itself. The first pages of each document count. Pages with a warning (scans,
 * broken encodings) and scripts from right to left, which the two write differently, are counted apart.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PdfEngine } from "../src/paging/pdf/pdf-engine.ts";
import { makePdf } from "../test/support/make-pdf.ts";
import {
	hasTwoColumns,
	orderKept,
	popplerPages,
	popplerTexts,
	recalled,
	wordsOf,
} from "./paging/pdf-compare.ts";
import { type Line, missing, options, report, tempFolder } from "./support.ts";

const MAX_FILES = 400;
const MAX_BYTES = 5_000_000;
const MAX_PAGES = 8;
/** A page whose lines keep their order in this share is read in the right order. */
const ORDER = 0.9;

const folder = options.quick ? samplePdfs() : process.env.STRATA_PDFS;
if (folder === undefined || !existsSync(folder)) skip("STRATA_PDFS names no folder");
else if (spawnSync("pdftotext", ["-v"]).status !== 0)
	skip("pdftotext (poppler-utils) is not installed");
else report(await measure(evenly(pdfsIn(folder), MAX_FILES)));

function skip(reason: string): void {
	missing("all cases", reason);
	report([{ case: `skipped: ${reason}`, unit: "", value: 0 }]);
}

async function measure(files: readonly string[]): Promise<Line[]> {
	const engine = new PdfEngine({ deadlineMs: 60_000 });
	const sums = {
		documents: 0,
		words: 0,
		found: 0,
		warned: 0,
		rightToLeft: 0,
		columns: 0,
		right: 0,
	};
	for (const file of files) {
		const laidOut = await popplerPages(file, MAX_PAGES);
		const opened = laidOut && (await engine.open(readFileSync(file)).catch(() => undefined));
		if (!laidOut || !opened) continue;
		sums.documents++;
		const texts = await popplerTexts(file, MAX_PAGES);
		const count = Math.min(MAX_PAGES, opened.totalPages);
		for (const { number, text, warning } of await opened.pages(1, count, { maxChars: 1e9 })) {
			const words = wordsOf(texts[number - 1] ?? "");
			if (warning) sums.warned++;
			else if (words.some((word) => /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(word)))
				sums.rightToLeft++;
			else {
				sums.words += words.length;
				sums.found += recalled(words, wordsOf(text));
				const page = laidOut[number - 1];
				if (!page || !hasTwoColumns(page)) continue;
				sums.columns++;
				if (orderKept(page, text) >= ORDER) sums.right++;
			}
		}
		opened.close();
	}
	await engine.close();
	const { documents, words, warned, rightToLeft, columns } = sums;
	if (words === 0 || columns === 0)
		throw new Error(`${folder} has no PDF with text, or none in two columns: ${documents} read`);
	return [
		{
			case: "words of pdftotext that are read",
			unit: "share",
			value: sums.found / words,
			digits: 4,
			atLeast: 0.99,
			from: { documents, words, "pages with a warning": warned, "right to left": rightToLeft },
		},
		{
			case: "pages of two columns in the right order",
			unit: "share",
			value: sums.right / columns,
			digits: 3,
			atLeast: 0.9,
			from: { pages: columns },
		},
	];
}

function pdfsIn(path: string): string[] {
	return readdirSync(path, { recursive: true, encoding: "utf8" })
		.filter((name) => name.toLowerCase().endsWith(".pdf"))
		.map((name) => join(path, name))
		.filter((file) => statSync(file).isFile() && statSync(file).size <= MAX_BYTES)
		.toSorted();
}

function evenly<T>(list: readonly T[], most: number): T[] {
	const step = Math.max(1, list.length / most);
	return Array.from(
		{ length: Math.min(most, list.length) },
		(_, i) => list[Math.floor(i * step)] as T,
	);
}

function samplePdfs(): string {
	const path = tempFolder();
	const line = (i: number) => `Line ${i} of a page with some words on it`;
	const lines = Array.from({ length: 30 }, (_, i) => line(i));
	writeFileSync(join(path, "plain.pdf"), makePdf({ pages: [{ lines }] }));
	writeFileSync(
		join(path, "columns.pdf"),
		makePdf({ pages: [{ lines, rightColumn: lines.map((text) => `${text} too`) }] }),
	);
	return path;
}
