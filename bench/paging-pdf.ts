/**
 * How fast PDFs are read: the first page of long and short documents, text throughput beside `pdftotext` where that
 * is installed (poppler-utils), cold start and memory. The documents are made here.
 * Run with `npm run bench -- paging-pdf`; writes `bench/results/paging-pdf.json`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createPdfEngine, type PdfEngine } from "../src/paging/pdf/pdf-engine.ts";
import { makePdf } from "../test/support/make-pdf.ts";
import { createRandom } from "./readcache/sample-text.ts";
import { compare, type Line, median, printLines, rounded, saveLines, timed } from "./support.ts";

const LONG = 2000;
const SHORT = 20;
const EVERYTHING = Number.POSITIVE_INFINITY;
/** A first chunk if nothing else is asked for, and the largest one. */
const CHUNK = 8000;
const LARGE_CHUNK = 20_000;

if (process.argv[2] === "memory") {
	console.log(JSON.stringify(await memoryOf(process.argv[3] as string)));
	process.exit();
}

const folder = mkdtempSync(join(tmpdir(), "bench-pdf-"));
const words = { short: makeDocument(SHORT, "words"), long: makeDocument(LONG, "words") };
const lines = { short: makeDocument(SHORT, "lines"), long: makeDocument(LONG, "lines") };

const figures: Line[] = [await coldStart()];
const engine = createPdfEngine();
figures.push(await firstText(engine, lines, 1), await firstText(engine, words, CHUNK));
for (const chars of [EVERYTHING, LARGE_CHUNK])
	figures.push(await allText(engine, words.long, chars));
for (const document of [lines.long, words.short])
	figures.push(await allText(engine, document, EVERYTHING));
figures.push(memory());
await engine.close();
rmSync(folder, { recursive: true });
printLines(figures);
saveLines("paging-pdf", figures);

interface Document {
	bytes: Buffer;
	/** For `pdftotext`. */
	path: string;
	pages: number;
	placed: Placed;
}

/**
 * What a piece of text is. Word processors and typesetters place every word by itself; simpler tools write whole lines,
 * which is less work for `pdftotext`.
 */
type Placed = "words" | "lines";

/** Pages as in a book: 30 lines of some 66 characters, compressed. */
function makeDocument(count: number, placed: Placed): Document {
	const random = createRandom(count);
	const vocabulary =
		"a an and are as at be by for from has in is it its of on or that the this to was which with agent answer cache chunk context cursor document engine extraction fetch language measurement memory model network page provider reader request resource session structure surrogate throughput transport window".split(
			" ",
		);
	const word = () => vocabulary[Math.floor(random() * vocabulary.length)] as string;
	const line = () => {
		let text = word();
		while (text.length < 63) text += ` ${word()}`;
		return text;
	};
	const pages = Array.from({ length: count }, (_, page) => ({
		lines: [`Page ${page + 1}`, ...Array.from({ length: 29 }, line)],
		placeWords: placed === "words",
	}));
	const bytes = makePdf({ pages, title: `${count} pages`, compress: true });
	const path = join(folder, `${count}-${placed}.pdf`);
	writeFileSync(path, bytes);
	return { bytes, path, pages: count, placed };
}

/** A new worker each time; the first one of the process also compiles pdfium. */
async function coldStart(): Promise<Line> {
	const times: number[] = [];
	for (let round = 0; round < 8; round++) {
		const fresh = createPdfEngine();
		times.push(await timed(() => readFirst(fresh, words.short)));
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

async function firstText(
	warm: PdfEngine,
	{ short, long }: { short: Document; long: Document },
	maxChars: number,
): Promise<Line> {
	const { ratio, baselineMs, candidateMs, rounds } = await compare({
		baseline: () => readFirst(warm, short, maxChars),
		candidate: () => readFirst(warm, long, maxChars),
		// Closing a document happens in the worker, after the call.
		settle: () => sleep(5),
		rounds: 200,
	});
	const what = maxChars === 1 ? "first page" : `first ${maxChars} characters`;
	return {
		case: `${what} of ${LONG} pages, warm worker: open, read`,
		unit: `× that of ${SHORT} pages`,
		value: ratio,
		target: 1.5,
		from: {
			[`${SHORT} pages, ms`]: baselineMs,
			[`${LONG} pages, ms`]: candidateMs,
			"their bytes": long.bytes.length,
			rounds,
		},
	};
}

/** All pages: opened and read by warm workers, against a run of `pdftotext` less its time to the first page. */
async function allText(warm: PdfEngine, document: Document, maxChars: number): Promise<Line> {
	const { pages, placed } = document;
	const version = pdftotextVersion();
	const start: number[] = [];
	const rounds = pages === LONG ? 5 : 60;
	const { baselineMs, candidateMs } = await compare({
		prepare: async () => {
			start.push(version ? await timed(() => pdftotext(document, 1)) : 0);
		},
		baseline: async () => version && pdftotext(document, pages),
		candidate: () => readAll(warm, document, maxChars),
		rounds,
	});
	const how = maxChars === EVERYTHING ? "in one call" : `in chunks of ${maxChars} characters`;
	const title = `all text of ${pages} pages, placed by ${placed}, ${how}, start-up excluded`;
	const ours = perSecond(pages, candidateMs);
	if (!version) {
		const why = { "to compare with": "pdftotext is not installed" };
		return { case: title, unit: "pages/s", value: ours, from: why };
	}
	const theirMs = baselineMs - median(start);
	return {
		case: title,
		unit: "× the time of pdftotext",
		value: rounded(candidateMs / pages / (theirMs / (pages - 1)), 2),
		target: pages === LONG ? 1 : 2,
		from: {
			"pages/s": ours,
			"pdftotext pages/s": perSecond(pages - 1, theirMs),
			"pdftotext to the first page, ms": rounded(median(start)),
			workers: warm.stats().workers,
			rounds,
			pdftotext: version,
		},
	};
}

/** In a process of its own, which has made no documents. */
function memory(): Line {
	const self = fileURLToPath(import.meta.url);
	const { stdout } = spawnSync(process.execPath, [self, "memory", words.long.path], {
		encoding: "utf8",
	});
	const { before, first, all, ...rest } = JSON.parse(stdout) as Record<string, number>;
	return {
		case: `resident memory after the text of ${LONG} pages`,
		unit: "MB",
		value: all ?? Number.NaN,
		from: { "before, MB": before ?? 0, "after the first page, MB": first ?? 0, ...rest },
	};
}

async function memoryOf(path: string) {
	const document = { bytes: readFileSync(path), pages: LONG };
	const before = rss();
	const warm = createPdfEngine();
	await readFirst(warm, document);
	const first = rss();
	await readAll(warm, document, EVERYTHING);
	const { workers, memoryBytes } = warm.stats();
	return { before, first, all: rss(), workers, "WebAssembly, MB": megabytes(memoryBytes) };
}

type Bytes = Pick<Document, "bytes" | "pages">;

async function readFirst(engine: PdfEngine, { bytes }: Bytes, maxChars = 1): Promise<void> {
	const document = await engine.open(bytes);
	const [page] = await document.pages(1, SHORT, { maxChars });
	document.close();
	if (!page?.text.startsWith("Page 1\n")) throw new Error("the first page was not read");
}

async function readAll(engine: PdfEngine, { bytes, pages }: Bytes, maxChars: number) {
	const document = await engine.open(bytes);
	let next = 1;
	while (next <= pages) {
		for (const { text } of await document.pages(next, pages, { maxChars })) {
			if (!text.startsWith(`Page ${next}\n`)) throw new Error(`page ${next} was not read`);
			next++;
		}
	}
	document.close();
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
