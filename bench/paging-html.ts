/**
 * The time to convert a web page to Markdown, and the shares of its main text and of its surroundings that are kept. On
 * generated pages, compared with the linear converter, which keeps everything.
 */
import { Extractor } from "../src/paging/extract/extractor.ts";
import { linearHtmlToMarkdown } from "../src/paging/extract/linear-html.ts";
import { type SamplePage, samplePages } from "./paging/html-pages.ts";
import { type Line, median, report, rounded, sized, timed } from "./support.ts";

const PER_KIND = sized(3, 1);
const ROUNDS = sized(5, 1);
const LINEAR_BYTES = sized(10_000_000, 100_000);
/** Median of the same pages with Defuddle and Readability on a DOM: recorded on 2026-11-15 on two cores of an AMD EPYC. */
const DOM_MS = 34.1;
const BASE_URL = "https://example.com/docs/page.html";

const pages = samplePages(PER_KIND);
const extractor = new Extractor({ deadlineMs: 60_000 });
await extractor.extract({ html: pages[0]?.html ?? "", baseUrl: BASE_URL }); // starts the worker

const figures: Figures[] = [];
for (const page of pages) figures.push(await measure(page));
await extractor.close();

const kinds = Object.entries(Object.groupBy(figures, ({ kind }) => kind));
report([
	...kinds.flatMap(([kind, list = []]) => summary(kind, list)),
	...summary("all pages", figures),
	againstDom(figures),
	...(await linearSpeed()),
]);

type Figures = Awaited<ReturnType<typeof measure>>;

async function measure({ kind, html, main, around }: SamplePage) {
	const times: number[] = [];
	const linearTimes: number[] = [];
	let found = await extractor.extract({ html, baseUrl: BASE_URL });
	let whole = linearHtmlToMarkdown(html, { baseUrl: BASE_URL });
	for (let round = 0; round < ROUNDS; round++) {
		times.push(
			await timed(async () => {
				found = await extractor.extract({ html, baseUrl: BASE_URL });
			}),
		);
		linearTimes.push(
			await timed(async () => {
				whole = linearHtmlToMarkdown(html, { baseUrl: BASE_URL });
			}),
		);
	}
	return {
		kind,
		kilobytes: html.length / 1000,
		ms: median(times),
		linearMs: median(linearTimes),
		kept: shareFound(main, found.markdown),
		noise: shareFound(around, found.markdown),
		linearKept: shareFound(main, whole.markdown),
		linearNoise: shareFound(around, whole.markdown),
	};
}

function summary(kind: string, list: readonly Figures[]): Line[] {
	const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
	const percent = (values: number[]) => 100 * mean(values);
	return [
		{
			case: `${kind}: to markdown`,
			unit: "ms",
			value: median(list.map((page) => page.ms)),
			baseline: { name: "linear", value: median(list.map((page) => page.linearMs)) },
			from: {
				"worst ms": rounded(Math.max(...list.map((page) => page.ms))),
				pages: list.length,
				"kB a page": rounded(mean(list.map((page) => page.kilobytes)), 0),
			},
		},
		{
			case: `${kind}: main text kept`,
			unit: "%",
			value: percent(list.map((page) => page.kept)),
			better: "higher",
			from: { "linear %": rounded(percent(list.map((page) => page.linearKept))) },
		},
		{
			case: `${kind}: surroundings kept`,
			unit: "%",
			value: percent(list.map((page) => page.noise)),
			from: { "linear %": rounded(percent(list.map((page) => page.linearNoise))) },
		},
	];
}

function againstDom(list: readonly Figures[]): Line {
	const ms = median(list.map((page) => page.ms));
	return {
		case: "all pages: time against the converter with a DOM",
		unit: "× its recorded time",
		value: ms / DOM_MS,
		digits: 2,
		target: 0.3,
		from: { "median ms": rounded(ms), "recorded ms": DOM_MS },
	};
}

/** The share of the text, by length, whose pieces occur in the Markdown. */
function shareFound(pieces: string[], markdown: string): number {
	const plain = (text: string) => text.replace(/\]\([^)]*\)/g, "").replace(/[\s\\*[\]!|`]+/g, " ");
	const haystack = plain(markdown);
	let [found, all] = [0, 0];
	for (const piece of pieces) {
		all += piece.length;
		if (haystack.includes(plain(piece).trim())) found += piece.length;
	}
	return all === 0 ? 0 : found / all;
}

/** The linear converter on 10 MB. */
async function linearSpeed(): Promise<Line[]> {
	const sources = {
		paragraphs: `<p>Some <b>words</b> and <a href="/x">a link</a>, ${"more words, ".repeat(8)}</p>\n`,
		"table rows": "<tr><td>a cell</td><td>another</td><td>12345</td></tr>\n",
		"nested elements": "<div>",
	};
	const lines: Line[] = [];
	for (const [name, source] of Object.entries(sources)) {
		const html = source.repeat(LINEAR_BYTES / source.length);
		const times: number[] = [];
		const scans: number[] = [];
		for (let round = 0; round < ROUNDS; round++) {
			times.push(await timed(() => linearHtmlToMarkdown(html, { baseUrl: BASE_URL })));
			scans.push(await timed(() => html.split("<").length));
		}
		lines.push({
			case: `linear: 10 MB of ${name}`,
			unit: "ms",
			value: median(times),
			digits: 0,
			baseline: { name: "splitting it at tags", value: median(scans) },
			from: { "fastest ms": rounded(Math.min(...times), 0) },
		});
	}
	return lines;
}
