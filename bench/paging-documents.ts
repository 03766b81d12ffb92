/**
 * The time to the first chunk of office documents and books, and of a web page of 10 MB, with the longest pause of the main
 * thread meanwhile. The documents are generated; each read is the first one of that file.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createPagedReader } from "../src/paging/index.ts";
import {
	docxParagraph,
	makeDocx,
	makeEpub,
	makeOpenDocument,
	makePptx,
	makeXlsx,
} from "../test/support/make-documents.ts";
import { type Line, median, report, rounded, sized, tempFolder } from "./support.ts";

const ROUNDS = sized(5, 1);
const WORDS =
	"the quick brown fox jumps over the lazy dog and rests for a while in the shade of a tree";
/** Paragraphs that hardly pack, so that a document of a megabyte is one on disk too. */
const paragraphs = Array.from({ length: sized(35_000, 200) }, (_, i) => `${i}. ${someWords(i)}.`);

/** Paragraphs on a slide. */
const SLIDE = 50;

/** Words, the same for the same number. */
function someWords(seed: number): string {
	const letters = createHash("sha256")
		.update(`${seed}`)
		.digest("base64")
		.replace(/[^a-z]/gi, "");
	return letters
		.toLowerCase()
		.replace(/(.{5})/g, "$1 ")
		.concat(WORDS);
}

const rows = Array.from({ length: sized(50_000, 500) }, (_, i) => [
	`name ${i}`,
	i,
	i * 31,
	`note ${i % 97}`,
]);
const chapter = (i: number) =>
	`<h1>Page ${i}</h1>${paragraphs
		.slice(0, 12)
		.map((text) => `<p>${text}`)
		.join("")}`;
const htmlParagraph = `<p>Some <b>words</b> and <a href="/x">a link</a>, ${WORDS}.</p>\n`;

const files: Record<string, { content: Buffer | string; limitMs: number }> = {
	"Word document": {
		content: makeDocx(paragraphs.map((text) => docxParagraph(text)).join("")),
		limitMs: 1000,
	},
	"slides.pptx": {
		content: makePptx(
			Array.from({ length: paragraphs.length / SLIDE }, (_, i) => ({
				title: `${i}`,
				text: paragraphs.slice(i * SLIDE, (i + 1) * SLIDE).join(" "),
			})),
		),
		limitMs: 1000,
	},
	"OpenDocument text": {
		content: makeOpenDocument(
			"text",
			paragraphs.map((text) => `<text:p>${text}</text:p>`).join(""),
		),
		limitMs: 1000,
	},
	"sheet of 50,000 rows": { content: makeXlsx({ Sheet: rows }), limitMs: 500 },
	"book of 200 pages": {
		content: makeEpub(
			"Book",
			Array.from({ length: sized(200, 5) }, (_, i) => chapter(i)),
		),
		limitMs: 500,
	},
	"web page of 10 MB": {
		content: `<!doctype html><title>t</title>${htmlParagraph.repeat(sized(10_000_000, 100_000) / htmlParagraph.length)}`,
		limitMs: 5000,
	},
};

const folder = tempFolder();
const reader = createPagedReader({ root: folder, maxWebBytes: 20_000_000, extractSeconds: 60 });
writeFileSync(join(folder, "warm.html"), "<!doctype html><p>warm");
await reader.read({ uri: "warm.html" }); // starts the worker

const lines: Line[] = [];
for (const [name, { content, limitMs }] of Object.entries(files)) {
	const times: number[] = [];
	const pauses: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const file = `${lines.length}-${round}${name.startsWith("web") ? ".html" : ".bin"}`;
		writeFileSync(join(folder, file), content);
		const delay = monitorEventLoopDelay({ resolution: 1 });
		delay.enable();
		const start = performance.now();
		await reader.read({ uri: file });
		times.push(performance.now() - start);
		delay.disable();
		pauses.push(delay.max / 1e6);
	}
	lines.push({
		case: `${name}: first chunk`,
		unit: "ms",
		value: median(times),
		digits: 0,
		target: limitMs,
		from: {
			"slowest ms": rounded(Math.max(...times), 0),
			kB: rounded(content.length / 1000, 0),
		},
	});
	lines.push({
		case: `${name}: longest pause of the main thread`,
		unit: "ms",
		value: median(pauses),
		digits: 0,
		target: 50,
		from: { "worst round, ms": rounded(Math.max(...pauses), 0) },
	});
}
await reader.close();
report(lines);
