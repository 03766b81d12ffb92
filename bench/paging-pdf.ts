/**
 * How fast PDFs are read: the first page of long and short documents, text throughput beside `pdftotext` where that
 * is installed (poppler-utils), cold start and memory. The documents are made here.
 * Run with `npm run bench -- paging-pdf`; writes `bench/results/paging-pdf.json`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPdfEngine, type PdfEngine } from "../src/paging/pdf/pdf-engine.ts";
import { makePdf } from "../test/support/make-pdf.ts";
import { createRandom } from "./sample-text.ts";
import { compare, type Line, median, publishLines, rounded, timed } from "./support.ts";

const LONG = 2000;
const SHORT = 20;
const EVERYTHING = { maxChars: Number.POSITIVE_INFINITY };

const folder = mkdtempSync(join(tmpdir(), "bench-pdf-"));
const long = makeDocument(LONG);
const short = makeDocument(SHORT);
const rssBefore = rss();

const lines: Line[] = [await coldStart()];
const engine = createPdfEngine();
lines.push(await firstPage(engine), ...(await throughput(engine)), memory(engine));
await engine.close();
rmSync(folder, { recursive: true });
publishLines("paging-pdf", lines);

interface Document {
	bytes: Buffer;
	/** For `pdftotext`. */
	path: string;
	pages: number;
}

/** Pages as in a book: 40 lines of some 70 characters, compressed. */
function makeDocument(count: number): Document {
	const random = createRandom(count);
	const words =
		"a an and are as at be by for from has in is it its of on or that the this to was which with agent answer cache chunk context cursor document engine extraction fetch language measurement memory model network page provider reader request resource session structure surrogate throughput transport window".split(
			" ",
		);
	const word = () => words[Math.floor(random() * words.length)] as string;
	const line = () => {
		let text = word();
		while (text.length < 66) text += ` ${word()}`;
		return text;
	};
	const pages = Array.from({ length: count }, (_, page) => ({
		lines: [`Page ${page + 1}`, ...Array.from({ length: 39 }, line)],
	}));
	const bytes = makePdf({ pages, title: `${count} pages`, compress: true });
	const path = join(folder, `${count}.pdf`);
	writeFileSync(path, bytes);
	return { bytes, path, pages: count };
}

/** A new worker each time; the first one of the process also compiles pdfium. */
async function coldStart(): Promise<Line> {
	const times: number[] = [];
	for (let round = 0; round < 8; round++) {
		const fresh = createPdfEngine();
		times.push(await timed(() => readFirst(fresh, short)));
		await fresh.close();
	}
	const [first = Number.NaN, ...later] = times;
	return {
		case: "first page, cold: start the worker, open, read",
		unit: "ms",
		value: rounded(first),
		from: { "a later worker of the process, ms": rounded(median(later)), rounds: later.length },
	};
}

async function firstPage(warm: PdfEngine): Promise<Line> {
	const { ratio, baselineMs, candidateMs, rounds } = await compare({
		baseline: () => readFirst(warm, short),
		candidate: () => readFirst(warm, long),
		rounds: 100,
	});
	return {
		case: `first page of ${LONG} pages, warm worker: open, read`,
		unit: `× that of ${SHORT} pages`,
		value: ratio,
		target: 1.5,
		from: { [`${SHORT} pages, ms`]: baselineMs, [`${LONG} pages, ms`]: candidateMs, rounds },
	};
}

/** All pages: opened and read by warm workers, against a run of `pdftotext` less its time to the first page. */
async function throughput(warm: PdfEngine): Promise<Line[]> {
	const version = pdftotextVersion();
	const result: Line[] = [];
	for (const [document, target, rounds] of [
		[long, 1, 15],
		[short, 2, 60],
	] as const) {
		const start: number[] = [];
		const { baselineMs, candidateMs } = await compare({
			prepare: async () => {
				start.push(version ? await timed(() => pdftotext(document, 1)) : 0);
			},
			baseline: async () => version && pdftotext(document, document.pages),
			candidate: () => readAll(warm, document),
			rounds,
		});
		const title = `all text of ${document.pages} pages, start-up excluded`;
		const ours = perSecond(document.pages, candidateMs);
		if (!version) {
			const why = { "to compare with": "pdftotext is not installed" };
			result.push({ case: title, unit: "pages/s", value: ours, from: why });
			continue;
		}
		const theirMs = baselineMs - median(start);
		result.push({
			case: title,
			unit: "× the time of pdftotext",
			value: rounded(candidateMs / document.pages / (theirMs / (document.pages - 1)), 2),
			target,
			from: {
				"pages/s": ours,
				"pdftotext pages/s": perSecond(document.pages - 1, theirMs),
				"pdftotext to the first page, ms": rounded(median(start)),
				workers: warm.stats().workers,
				rounds,
				pdftotext: version,
			},
		});
	}
	return result;
}

function memory(warm: PdfEngine): Line {
	const { workers, memoryBytes } = warm.stats();
	return {
		case: "resident memory after all this",
		unit: "MB",
		value: rss(),
		from: { "before, MB": rssBefore, workers, "their WebAssembly, MB": megabytes(memoryBytes) },
	};
}

async function readFirst(engine: PdfEngine, { bytes }: Document): Promise<void> {
	const document = await engine.open(bytes);
	const [page] = await document.pages(1, 1, { maxChars: 8000 });
	document.close();
	if (!page?.text.startsWith("Page 1\n")) throw new Error("the first page was not read");
}

async function readAll(engine: PdfEngine, { bytes, pages }: Document): Promise<void> {
	const document = await engine.open(bytes);
	const read = await document.pages(1, pages, EVERYTHING);
	document.close();
	const isRight = read.every(({ text }, i) => text.startsWith(`Page ${i + 1}\n`));
	if (read.length !== pages || !isRight) throw new Error("not all pages were read");
}

async function pdftotext({ path }: Document, last: number): Promise<void> {
	const stdio = "ignore";
	const { status } = spawnSync("pdftotext", ["-q", "-l", String(last), path, "-"], { stdio });
	if (status !== 0) throw new Error("pdftotext failed");
}

function pdftotextVersion(): string | undefined {
	const { stderr } = spawnSync("pdftotext", ["-v"], { encoding: "utf8" });
	return stderr?.match(/version ([\d.]+)/)?.[1];
}

function perSecond(pages: number, ms: number): number {
	return Math.round((pages / ms) * 1000);
}

function rss(): number {
	return megabytes(process.memoryUsage().rss);
}

function megabytes(bytes: number): number {
	return Math.round(bytes / 1e6);
}
