/**
 * Precision and recall of a page's main text, against texts that people wrote down. The whole page, with the same
 * converter, is measured in the same run. STRATA_PAGES names the folder: `truth.json` with
 * `url` and `articleBody` of each page, the pages in `html/<id>.html.gz`, and in `kinds/`, if it is there, the same with
 * `type` and `ground_truth.main_content`; a `score.mjs` in the folder is run as well. The pages belong to their publishers
 * and are not part of this project; a quick run generates one. The model was trained on these pages, so the only target that
 * is held against them is that no article is lost; `scripts/main-text/README.md` has the figures for pages that it had not seen.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { htmlToMarkdown } from "../src/paging/extract/html-to-markdown.ts";
import { linearHtmlToMarkdown } from "../src/paging/extract/linear-html.ts";
import { decodeText } from "../src/paging/fetch/content.ts";
import { type Part, type Structure, structureKept } from "./paging/page-structure.ts";
import { scoreText, type TextScore } from "./paging/text-score.ts";
import { type Line, missing, options, report, rounded, tempFolder, timed } from "./support.ts";

const STRUCTURE: readonly (readonly [part: Part, name: string])[] = [
	["code", "code blocks kept"],
	["exactCode", "code blocks kept to the byte"],
	["tables", "tables kept"],
	["items", "list items kept"],
	["headings", "headings kept"],
	["links", "links kept"],
];

const folder = options.quick ? samplePages() : process.env.STRATA_PAGES;
const hasPages = folder !== undefined && existsSync(join(folder, "truth.json"));
if (!hasPages) missing("all", "STRATA_PAGES names no folder with a truth.json");
report(
	hasPages ? [...(await articleLines(folder)), ...(await kindLines(join(folder, "kinds")))] : [],
);

/** A page and its expected main text. */
interface GoldPage {
	id: string;
	kind: string;
	url: string;
	html: string;
	gold: string;
}

/** One page, extracted both ways. */
interface Measured {
	id: string;
	kind: string;
	markdown: string;
	structure: Structure;
	ours: TextScore;
	whole: TextScore;
	ms: number;
	wholeMs: number;
}

async function articleLines(path: string): Promise<Line[]> {
	const pages = goldPages(path, ({ articleBody }) => ({ kind: "articles", gold: articleBody }));
	const list = await measureAll(pages, 4);
	const { f1, wholeF1, from } = summary(list);
	const ms = mean(list.map((page) => page.ms));
	const wholeMs = mean(list.map((page) => page.wholeMs));
	const lowest = list.reduce((low, page) => (page.ours.f1 < low.ours.f1 ? page : low));
	return [
		{
			case: "articles: F1 of runs of 4 words",
			unit: "F1",
			value: f1,
			digits: 3,
			better: "higher",
			from,
		},
		...(await ownScore(path, list)),
		{
			case: "articles: the same, the whole page",
			unit: "F1",
			value: wholeF1,
			digits: 3,
			better: "higher",
		},
		{
			case: "articles: lowest page",
			unit: "F1",
			value: lowest.ours.f1,
			digits: 3,
			better: "higher",
			atLeast: 0.5,
			from: { page: lowest.id, "the whole page": rounded(lowest.whole.f1, 3) },
		},
		{
			case: "articles: time a page",
			unit: "× the whole page",
			value: ms / wholeMs,
			digits: 2,
			from: { "mean ms": rounded(ms), "whole page ms": rounded(wholeMs) },
		},
	];
}

async function kindLines(path: string): Promise<Line[]> {
	if (!existsSync(join(path, "truth.json"))) return [];
	const pages = goldPages(path, ({ type, ground_truth }) => ({
		kind: type,
		gold: ground_truth?.main_content,
	}));
	const list = await measureAll(pages, 1);
	const kinds = Object.groupBy(list, ({ kind }) => kind);
	const lines = [["all kinds", list] as const, ...Object.entries(kinds)].map(
		([kind, some = []]) => {
			const { f1, wholeF1, from } = summary(some);
			return {
				case: `${kind}: F1 of words`,
				unit: "F1",
				value: f1,
				digits: 3,
				better: "higher" as const,
				from: { ...from, "the whole page": wholeF1 },
			};
		},
	);
	return [...lines, ...structureLines(kinds.documentation ?? [])];
}

/** Of documentation: what of its structure is in the gold text, and in the Markdown too. */
function structureLines(list: readonly Measured[]): Line[] {
	if (list.length === 0) return [];
	return STRUCTURE.map(([part, name]) => {
		const sum = (pick: "wanted" | "kept") =>
			list.reduce((total, { structure }) => total + structure[part][pick], 0);
		const [wanted, kept] = [sum("wanted"), sum("kept")];
		return {
			case: `documentation: ${name}`,
			unit: "%",
			value: (100 * kept) / Math.max(1, wanted),
			digits: 1,
			better: "higher" as const,
			from: { kept, wanted },
		};
	});
}

/** The figure of the scorer that comes with the pages, if there is one. */
async function ownScore(path: string, list: readonly Measured[]): Promise<Line[]> {
	const scorer = join(path, "score.mjs");
	if (!existsSync(scorer)) return [];
	const texts = join(tempFolder(), "texts.json");
	writeFileSync(
		texts,
		JSON.stringify(Object.fromEntries(list.map((one) => [one.id, one.markdown]))),
	);
	const { stdout } = await promisify(execFile)(process.execPath, [scorer, texts]);
	const { pages, f1, precision, recall } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
	return [
		{
			case: "articles: F1 by the scorer of the pages",
			unit: "F1",
			value: f1,
			digits: 3,
			better: "higher",
			from: { pages, precision: rounded(precision, 3), recall: rounded(recall, 3) },
		},
	];
}

function summary(list: readonly Measured[]) {
	const figure = (pick: (page: Measured) => number) => rounded(mean(list.map(pick)), 3);
	return {
		f1: figure(({ ours }) => ours.f1),
		wholeF1: figure(({ whole }) => whole.f1),
		from: {
			pages: list.length,
			precision: figure(({ ours }) => ours.precision),
			recall: figure(({ ours }) => ours.recall),
			"pages below 0.7": list.filter(({ ours }) => ours.f1 < 0.7).length,
		},
	};
}

/** In alternating order, so that other load on the machine affects both alike. */
async function measureAll(pages: Iterable<GoldPage>, run: number): Promise<Measured[]> {
	const measured: Measured[] = [];
	for (const { id, kind, url, html, gold } of pages) {
		const texts = { ours: "", whole: "" };
		const read = {
			ours: () => htmlToMarkdown(html, url).markdown,
			whole: () => wholePage(html, url),
		};
		const times = { ours: 0, whole: 0 };
		const order = ["ours", "whole"] as const;
		for (const who of measured.length % 2 === 0 ? order : order.toReversed()) {
			times[who] = await timed(async () => {
				texts[who] = read[who]();
			});
		}
		measured.push({
			id,
			kind,
			markdown: texts.ours,
			structure: structureKept(html, url, { gold, markdown: texts.ours }),
			ours: scoreText(texts.ours, gold, run),
			whole: scoreText(texts.whole, gold, run),
			ms: times.ours,
			wholeMs: times.whole,
		});
	}
	return measured;
}

function wholePage(html: string, baseUrl: string): string {
	return linearHtmlToMarkdown(html, { baseUrl }).markdown;
}

/** An entry of `truth.json`. */
interface Truth {
	url: string;
	type: string;
	articleBody: string;
	ground_truth?: { main_content?: string };
}

function* goldPages(
	path: string,
	describe: (truth: Truth) => { kind: string; gold: string | undefined },
): Generator<GoldPage> {
	const truths: [string, Truth][] = Object.entries(
		JSON.parse(readFileSync(join(path, "truth.json"), "utf8")),
	);
	for (const [id, truth] of truths) {
		const bytes = gunzipSync(readFileSync(join(path, "html", `${id}.html.gz`)));
		const html = decodeText(bytes, { contentType: "text/html", isHtml: true }).text;
		const { kind, gold = "" } = describe(truth);
		yield { id, kind, url: truth.url, html, gold };
	}
}

function samplePages(): string {
	const path = tempFolder();
	const articleBody = "A sentence of an article, as long as such sentences are. ".repeat(20);
	const html = `<title>Sample</title><nav><a href="/">Home</a></nav><article><h1>Sample</h1><p>${articleBody}</p></article>`;
	mkdirSync(join(path, "html"));
	writeFileSync(join(path, "html", "sample.html.gz"), gzipSync(html));
	const truth = { sample: { url: "https://example.org/sample", articleBody } };
	writeFileSync(join(path, "truth.json"), JSON.stringify(truth));
	return path;
}

function mean(values: readonly number[]): number {
	return values.reduce((sum, value) => sum + value, 0) / values.length;
}
