/**
 * Trains the model that finds a page's main text: `node scripts/main-text/train.ts <folder> [--folds 5] [--write]`. The folder has
 * `truth.json` and `html/` as `bench/page-quality.ts` describes. Without `--write` it cross-validates, with folds by
 * domain, and prints the scores of pages that the model has not seen; with it, the model is trained on all pages and
 * stored. `README.md` is the data card.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { scoreText } from "../../bench/paging/text-score.ts";
import { labelWords, SHORT_TEXT, textWords } from "../../src/paging/extract/block-facts.ts";
import { BlockFeatures, pageLabels } from "../../src/paging/extract/block-features.ts";
import {
	type BlockModelData,
	createBlockModel,
	createWeights,
} from "../../src/paging/extract/block-model.ts";
import { linearHtmlToMarkdown } from "../../src/paging/extract/linear-html.ts";
import { decideByChances, keptText } from "../../src/paging/extract/main-text.ts";
import { type PageTree, readPageTree, type TreeNode } from "../../src/paging/extract/page-tree.ts";
import { decodeText } from "../../src/paging/fetch/content.ts";
import { type BoostingOptions, binRows, boost } from "./boosting.ts";
import { labelBlocks, wordsOf } from "./labels.ts";
import { Shares, WordCounts } from "./word-counts.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		folds: { type: "string", default: "5" },
		write: { type: "boolean", default: false },
		trees: { type: "string", default: "150" },
		leaves: { type: "string", default: "16" },
		rate: { type: "string", default: "0.08" },
		seed: { type: "string", default: "1" },
		oracle: { type: "boolean", default: false },
		/** Where to store the chances of a cross-validation, or with --decide, where they are. */
		chances: { type: "string" },
		decide: { type: "boolean", default: false },
		dump: { type: "string" },
	},
});
const MODEL = new URL("../../src/paging/extract/main-text-model.json", import.meta.url);
const OPTIONS: BoostingOptions = {
	trees: Number(values.trees),
	leaves: Number(values.leaves),
	rate: Number(values.rate),
	penalty: 2,
	minWeight: 2,
	rowShare: 0.6,
	columnShare: 0.5,
	seed: Number(values.seed),
};
interface Page {
	id: string;
	set: "gold" | "kinds";
	kind: string;
	url: string;
	domain: string;
	html: string;
	gold: string;
	tree: PageTree;
	labels: number[];
	weights: number[];
	/** For each word of a label or a short text, the share of the words there that are main text. */
	labelShares: Map<string, number>;
	textShares: Map<string, number>;
	/** All words of the page's labels. */
	labelSet: Set<string>;
	/** True if the gold text leaves out most of what is around it: such pages teach nothing. */
	isPartial: boolean;
}

const [folder] = positionals;
if (folder === undefined)
	throw new Error("usage: node scripts/main-text/train.ts <folder> [--write]");
const start = performance.now();
const pages = [...loadPages(folder, "gold"), ...loadPages(join(folder, "kinds"), "kinds")];
log(`${pages.length} pages, ${pages.reduce((sum, { labels }) => sum + labels.length, 0)} blocks`);
if (values.oracle) {
	report(
		pages.map((page) =>
			score(
				page,
				page.labels.map((label) => label >= 0.5),
			),
		),
	);
} else if (values.decide) {
	const found: Record<string, number[]> = JSON.parse(readFileSync(values.chances ?? "", "utf8"));
	const none = () => 0;
	const weights = createWeights({
		label: none,
		threadLabel: none,
		text: none,
		thread: none,
		documentation: none,
	});
	const results = pages.map((page) => {
		const features = new BlockFeatures(page.tree, page.url, weights);
		return score(page, decideByChances(page.tree, features, found[page.set + page.id] ?? []));
	});
	report(results);
} else if (values.write) {
	const model = train(pages);
	writeFileSync(MODEL, `${JSON.stringify(model)}\n`);
	log(`written: ${JSON.stringify(model).length} bytes`);
} else crossValidate(Number(values.folds));

function log(text: string): void {
	console.log(`${((performance.now() - start) / 1000).toFixed(1)} s  ${text}`);
}

/** An entry of `truth.json`. */
interface Truth {
	url?: string;
	type?: string;
	articleBody?: string;
	ground_truth?: { main_content?: string };
}

function* loadPages(path: string, set: Page["set"]): Generator<Page> {
	if (!existsSync(join(path, "truth.json"))) return;
	const truths = JSON.parse(readFileSync(join(path, "truth.json"), "utf8"));
	for (const [id, truth] of Object.entries<Truth>(truths)) {
		const bytes = gunzipSync(readFileSync(join(path, "html", `${id}.html.gz`)));
		const html = decodeText(bytes, { contentType: "text/html", isHtml: true }).text;
		const gold: string =
			set === "gold" ? (truth.articleBody ?? "") : (truth.ground_truth?.main_content ?? "");
		const url: string = truth.url ?? "";
		const tree = readPageTree(html);
		const labels = labelBlocks(tree, gold);
		const host = URL.parse(url)?.hostname ?? id;
		const page: Page = {
			id,
			set,
			kind: set === "gold" ? "gold" : (truth.type ?? ""),
			url,
			domain: host.split(".").slice(-2).join("."),
			html,
			gold,
			tree,
			labels,
			weights: weightsOf(tree, gold),
			labelShares: new Map(),
			textShares: new Map(),
			labelSet: pageLabels(tree),
			isPartial: truth.type === "documentation" && goldShare(tree, labels) < 0.6,
		};
		page.labelShares = labelShares(page);
		page.textShares = textShares(page);
		yield page;
	}
}

/** The share of gold words in the smallest element that holds nearly all of them. */
function goldShare({ nodes, blocks }: PageTree, labels: readonly number[]): number {
	const hits = [0];
	const all = [0];
	for (const [i, { text }] of blocks.entries()) {
		const words = wordsOf(text).length;
		hits.push((hits[i] as number) + words * (labels[i] as number));
		all.push((all[i] as number) + words);
	}
	let share = 0;
	let smallest = Number.POSITIVE_INFINITY;
	for (const { first, end } of nodes) {
		const found = (hits[end] as number) - (hits[first] as number);
		const words = (all[end] as number) - (all[first] as number);
		if (found < 0.9 * (hits.at(-1) as number) || words >= smallest) continue;
		smallest = words;
		share = found / Math.max(1, words);
	}
	return share;
}

// Every page counts the same, and within a page long blocks count more.
function weightsOf({ blocks }: PageTree, gold: string): number[] {
	const size = wordsOf(gold).length + 50;
	return blocks.map(({ text }) => {
		const words = wordsOf(text).length;
		return Math.min(40, (300 * words) / size) + 0.25;
	});
}

function labelShares({ tree, labels }: Page): Map<string, number> {
	const shares = new Shares();
	const known = new Map<TreeNode, string[]>();
	for (const [i, block] of tree.blocks.entries()) {
		const size = Math.min(50, wordsOf(block.text).length);
		const seen = new Set(labelWords(block.inlineLabel));
		for (let at: TreeNode | undefined = block.node, n = 0; at && n < 8; at = at.parent, n++) {
			const words = known.get(at) ?? labelWords(at.label);
			known.set(at, words);
			for (const word of words) seen.add(word);
		}
		for (const word of seen) shares.add(word, size, labels[i] as number);
	}
	return shares.result();
}

function textShares({ tree, labels }: Page): Map<string, number> {
	const shares = new Shares();
	for (const [i, { text }] of tree.blocks.entries()) {
		const words = new Set(textWords(text));
		if (words.size > SHORT_TEXT) continue;
		for (const word of words) shares.add(word, 1, labels[i] as number);
	}
	return shares.result();
}

function train(some: readonly Page[]): BlockModelData {
	const labelCounts = new WordCounts(0.4, 2);
	const threadCounts = new WordCounts(0.4, 2);
	const textCounts = new WordCounts(0.3, 2);
	const threads = new WordCounts(0.18, 3);
	const documentation = new WordCounts(0.15, 3);
	const isThread = ({ kind }: Page) => (kind === "forum" ? 1 : 0);
	const isDocumentation = ({ kind }: Page) => (kind === "documentation" ? 1 : 0);
	for (const page of some) {
		const { domain } = page;
		for (const [word, share] of page.labelShares) {
			labelCounts.add(word, share, domain);
			if (isThread(page)) threadCounts.add(word, share, domain);
		}
		for (const [word, share] of page.textShares) textCounts.add(word, share, domain);
		for (const word of page.labelSet) {
			threads.add(word, isThread(page), domain);
			documentation.add(word, isDocumentation(page), domain);
		}
	}
	const strong = (weight: number, least: number) => (Math.abs(weight) >= least ? weight : 0);
	const rows: number[][] = [];
	const labels: number[] = [];
	const weights: number[] = [];
	for (const page of some) {
		if (page.isPartial) continue;
		// The page's own labels must not tell the model what its words mean.
		const without = createWeights({
			label: (word) => labelCounts.weight(word, page.labelShares.get(word)),
			threadLabel: (word) =>
				threadCounts.weight(word, isThread(page) ? page.labelShares.get(word) : undefined),
			text: (word) => textCounts.weight(word, page.textShares.get(word)),
			thread: (word) => strong(threads.weight(word, isThread(page)), 1.2),
			documentation: (word) => strong(documentation.weight(word, isDocumentation(page)), 1.2),
		});
		const features = new BlockFeatures(page.tree, page.url, without);
		for (const [i, label] of page.labels.entries()) {
			rows.push(features.of(i));
			labels.push(label >= 0.5 ? 1 : 0);
			weights.push(page.weights[i] as number);
		}
	}
	const count = rows[0]?.length ?? 0;
	const { bias, trees } = boost(binRows(rows, count), labels, weights, OPTIONS);
	return {
		features: count,
		bias: Number(bias.toFixed(3)),
		trees,
		labels: labelCounts.table(40),
		threadLabels: threadCounts.table(50),
		texts: textCounts.table(70),
		threads: threads.table(120),
		documentation: documentation.table(120),
	};
}

function crossValidate(folds: number): void {
	const domains = [...new Set(pages.map(({ domain }) => domain))];
	const foldOf = new Map(domains.map((domain, i) => [domain, i % folds]));
	const results: Result[] = [];
	const found: Record<string, number[]> = {};
	for (let fold = 0; fold < folds; fold++) {
		const data = train(pages.filter(({ domain }) => foldOf.get(domain) !== fold));
		const model = createBlockModel(data);
		for (const page of pages.filter(({ domain }) => foldOf.get(domain) === fold)) {
			const features = new BlockFeatures(page.tree, page.url, model.weights);
			const chances = page.tree.blocks.map((_, i) => model.probability(features.of(i)));
			found[page.set + page.id] = chances.map((chance) => Number(chance.toFixed(3)));
			const kept = decideByChances(page.tree, features, chances);
			results.push(score(page, kept));
		}
		log(`fold ${fold + 1}: ${JSON.stringify(data).length} bytes`);
	}
	if (values.chances) writeFileSync(values.chances, JSON.stringify(found));
	report(results);
}

interface Result {
	page: Page;
	f1: number;
	precision: number;
	recall: number;
}

function score(page: Page, kept: readonly boolean[]): Result {
	const keep = keptText(page.tree, kept);
	const { markdown } = linearHtmlToMarkdown(page.html, { baseUrl: page.url, keep });
	return { page, ...scoreText(markdown, page.gold, page.set === "gold" ? 4 : 1) };
}

function report(results: readonly Result[]): void {
	const sets = Object.entries(Object.groupBy(results, ({ page }) => page.set));
	const kinds = Object.entries(Object.groupBy(results, ({ page }) => page.kind));
	for (const [name, list = []] of [...sets, ...kinds]) {
		const mean = (pick: (one: (typeof list)[number]) => number) =>
			(list.reduce((sum, one) => sum + pick(one), 0) / list.length).toFixed(4);
		log(
			`${name.padEnd(14)} ${list.length} pages  F1 ${mean(({ f1 }) => f1)}  P ${mean(({ precision }) => precision)}  R ${mean(({ recall }) => recall)}`,
		);
	}
	if (values.dump)
		writeFileSync(
			values.dump,
			JSON.stringify(
				results.map(({ page: { id, kind, url }, ...score }) => ({ id, kind, url, ...score })),
			),
		);
}
