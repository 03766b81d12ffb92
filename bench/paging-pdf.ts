/**
 * The speed of reading PDFs: the first page of long and short documents, text throughput compared with `pdftotext` where
 * it is installed (poppler-utils), cold start and memory. The documents are generated.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PdfEngine } from "../src/paging/pdf/pdf-engine.ts";
import { makePdf } from "../test/support/make-pdf.ts";
import { type NumberedPdf, readAll, readFirst } from "./paging/pdf-reads.ts";
import { createRandom } from "./readcache/sample-text.ts";
import {
	compare,
	type Line,
	median,
	missing,
	report,
	rounded,
	sized,
	tempFolder,
	timed,
} from "./support.ts";

const LONG = sized(2000, 40);
const SHORT = 20;
const EVERYTHING = Number.POSITIVE_INFINITY;
/** The default size of a first chunk, and the largest size. */
const CHUNK = 8000;
const LARGE_CHUNK = 20_000;

const version = pdftotextVersion();
const folder = tempFolder();
const words = { short: makeDocument(SHORT, "words"), long: makeDocument(LONG, "words") };
const lines = { short: makeDocument(SHORT, "lines"), long: makeDocument(LONG, "lines") };

const figures: Line[] = [await coldStart()];
const engine = new PdfEngine();
figures.push(await firstText(engine, lines, 1), await firstText(engine, words, CHUNK));
for (const chars of [EVERYTHING, LARGE_CHUNK])
	figures.push(await allText(engine, words.long, chars));
for (const document of [lines.long, words.short])
	figures.push(await allText(engine, document, EVERYTHING));
figures.push(memory());
await engine.close();
report(figures);

interface Document extends NumberedPdf {
	/** For `pdftotext`. */
	path: string;
	placed: Placed;
}

/**
 * The unit of text. Word processors and typesetters place every word by itself; simpler tools write whole lines,
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
	for (let round = 0; round < sized(8, 2); round++) {
		const fresh = new PdfEngine();
		times.push(await timed(() => readFirst(fresh, words.short)));
		await fresh.close();
	}
	const [first = Number.NaN, ...later] = times;
	return {
		case: "first page, cold: start the worker, open, read",
		unit: "ms",
		value: first,
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
		digits: 2,
		target: 1.5,
		from: {
			[`${SHORT} pages, ms`]: baselineMs,
			[`${LONG} pages, ms`]: candidateMs,
			"their bytes": long.bytes.length,
			rounds,
		},
	};
}

/** All pages: opened and read by warm workers, compared with a run of `pdftotext` minus its time to the first page. */
async function allText(warm: PdfEngine, document: Document, maxChars: number): Promise<Line> {
	const { pages, placed } = document;
	const start: number[] = [];
	const { baselineMs, candidateMs, rounds } = await compare({
		prepare: async () => {
			start.push(version ? await timed(() => pdftotext(document, 1)) : 0);
		},
		baseline: async () => version && pdftotext(document, pages),
		candidate: () => readAll(warm, document, maxChars),
		rounds: pages === LONG ? 5 : 60,
	});
	const how = maxChars === EVERYTHING ? "in one call" : `in chunks of ${maxChars} characters`;
	const title = `all text of ${pages} pages, placed by ${placed}, ${how}, start-up excluded`;
	const ours = perSecond(pages, candidateMs);
	if (!version) {
		return { case: title, unit: "pages/s", value: ours, digits: 0, better: "higher" };
	}
	const theirMs = baselineMs - median(start);
	return {
		case: title,
		unit: "× the time of pdftotext",
		value: candidateMs / pages / (theirMs / (pages - 1)),
		digits: 2,
		target: pages === LONG ? 1 : 2,
		from: {
			"pages/s": Math.round(ours),
			"pdftotext pages/s": Math.round(perSecond(pages - 1, theirMs)),
			"pdftotext to the first page, ms": rounded(median(start)),
			workers: warm.stats().workers,
			rounds,
			pdftotext: version,
		},
	};
}

/** In a process of its own, which has generated no documents. */
function memory(): Line {
	const script = fileURLToPath(new URL("./paging/pdf-memory.ts", import.meta.url));
	const { path, pages } = words.long;
	const { stdout, stderr, status } = spawnSync(process.execPath, [script, path, String(pages)], {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`the process that reads for its memory failed: ${stderr}`);
	const {
		before = 0,
		first = 0,
		all = Number.NaN,
		...rest
	} = JSON.parse(stdout) as Record<string, number>;
	return {
		case: `resident memory after the text of ${LONG} pages`,
		unit: "MB",
		value: all,
		baseline: { name: "before", value: before },
		from: { "after the first page, MB": first, ...rest },
	};
}

async function pdftotext({ path }: Document, last: number): Promise<void> {
	const stdio = "ignore";
	const { status } = spawnSync("pdftotext", ["-q", "-l", String(last), path, "-"], { stdio });
	if (status !== 0) throw new Error("pdftotext failed");
}

function pdftotextVersion(): string | undefined {
	const { stderr } = spawnSync("pdftotext", ["-v"], { encoding: "utf8" });
	const found = stderr?.match(/version ([\d.]+)/)?.[1];
	return found ?? missing("times of pdftotext", "pdftotext (poppler-utils) is not installed");
}

function perSecond(pages: number, ms: number): number {
	return (pages / ms) * 1000;
}
