/**
 * How long a web page takes to become markdown, how much of its main text is kept and how much of what surrounds
 * it: on pages made here, or on the `.html` files of a folder (`npm run bench -- paging-html <folder>`), where the
 * main text of `a.html` is what `a.txt` holds, or all text of the page if there is no such file. Writes
 * `bench/results/paging-html.json` for pages made here.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createExtractor } from "../src/paging/extract/extractor.ts";
import { linearHtmlToMarkdown } from "../src/paging/extract/linear-html.ts";
import { type SamplePage, samplePages } from "./paging/html-pages.ts";
import { median, rounded, saveResults, timed } from "./support.ts";

const PER_KIND = 3;
const ROUNDS = 5;
const baseUrl = "https://example.com/docs/page.html";

const [folder] = process.argv.slice(2);
const pages = folder === undefined ? samplePages(PER_KIND) : pagesOf(folder);
const { extract, close } = createExtractor({ deadlineMs: 60_000 });
await extract({ html: pages[0]?.html ?? "", baseUrl }); // starts the worker

const figures = [];
for (const page of pages) figures.push(await measure(page));
await close();

const results = Object.entries(Object.groupBy(figures, ({ kind }) => kind)).map(
	([kind, list = []]) => summary(kind, list),
);
results.push(summary("all", figures));
console.table(results);
const linear = await linearSpeed();
console.table(linear);
if (folder === undefined) saveResults("paging-html", { rounds: ROUNDS, results, linear });

async function measure({ kind, html, main, around }: SamplePage) {
	const times: number[] = [];
	const linearTimes: number[] = [];
	let found = await extract({ html, baseUrl });
	let whole = linearHtmlToMarkdown(html, { baseUrl });
	for (let round = 0; round < ROUNDS; round++) {
		times.push(
			await timed(async () => {
				found = await extract({ html, baseUrl });
			}),
		);
		linearTimes.push(
			await timed(async () => {
				whole = linearHtmlToMarkdown(html, { baseUrl });
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
		via: found.via,
	};
}

function summary(kind: string, list: Awaited<ReturnType<typeof measure>>[]) {
	const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
	const percent = (values: number[]) => rounded(100 * mean(values));
	const via = Object.entries(Object.groupBy(list, (page) => page.via));
	return {
		kind,
		pages: list.length,
		"kB a page": rounded(mean(list.map((page) => page.kilobytes)), 0),
		"median ms": rounded(median(list.map((page) => page.ms))),
		"worst ms": rounded(Math.max(...list.map((page) => page.ms))),
		"main text kept %": percent(list.map((page) => page.kept)),
		"surroundings kept %": percent(list.map((page) => page.noise)),
		via: via.map(([name, { length }]) => `${name} ${length}`).join(", "),
		"linear only: median ms": rounded(median(list.map((page) => page.linearMs)), 2),
		"its main text kept %": percent(list.map((page) => page.linearKept)),
		"its surroundings kept %": percent(list.map((page) => page.linearNoise)),
	};
}

/** The share of the text, by length, that is in pieces that occur in the markdown. */
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

/** How the linear converter takes 10 MB. */
async function linearSpeed() {
	const sources = {
		paragraphs: `<p>Some <b>words</b> and <a href="/x">a link</a>, ${"more words, ".repeat(8)}</p>\n`,
		"table rows": "<tr><td>a cell</td><td>another</td><td>12345</td></tr>\n",
		"nested elements": "<div>",
	};
	const lines = [];
	for (const [name, source] of Object.entries(sources)) {
		const html = source.repeat(10_000_000 / source.length);
		const times: number[] = [];
		for (let round = 0; round < ROUNDS; round++) {
			times.push(await timed(async () => linearHtmlToMarkdown(html, { baseUrl })));
		}
		lines.push({
			"10 MB of": name,
			"median ms": rounded(median(times), 0),
			"fastest ms": rounded(Math.min(...times), 0),
		});
	}
	return lines;
}

function pagesOf(path: string): SamplePage[] {
	return readdirSync(path)
		.filter((name) => /\.html?$/.test(name))
		.map((name) => {
			const html = readFileSync(join(path, name), "utf8");
			const main = mainTextOf(join(path, name.replace(/\.html?$/, ".txt")), html);
			return { kind: "files", html, main, around: [] };
		});
}

/** The sentences of the file with a page's main text; without such a file, all lines of the page. */
function mainTextOf(path: string, html: string): string[] {
	if (!existsSync(path)) return linearHtmlToMarkdown(html, { baseUrl }).markdown.split(/\n+/);
	return readFileSync(path, "utf8").split(/(?<=[.!?])\s+|\n+/);
}
