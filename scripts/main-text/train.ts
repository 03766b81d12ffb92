/**
 * Trains the model that finds a page's main text: `node scripts/main-text/train.ts <folder> [--folds 5] [--write]`. The folder has
 * `truth.json` and `html/` as `bench/page-quality.ts` describes. Without `--write` it cross-validates, with folds by
 * domain, and prints the scores of pages that the model has not seen; with it, the model is trained on all pages and
 * stored. `README.md` is the data card.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { scoreText } from "../../bench/paging/text-score.ts";
import { BlockFeatures } from "../../src/paging/extract/block-features.ts";
import {
	type BlockModelData,
	createBlockModel,
	createWeights,
} from "../../src/paging/extract/block-model.ts";
import { linearHtmlToMarkdown } from "../../src/paging/extract/linear-html.ts";
import { decideByChances, keptText } from "../../src/paging/extract/main-text.ts";
import { type BoostingOptions, binRows, boost } from "./boosting.ts";
import { examplesOf } from "./examples.ts";
import { loadPages, type Page } from "./pages.ts";

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
const [folder] = positionals;
if (folder === undefined)
	throw new Error("usage: node scripts/main-text/train.ts <folder> [--write]");
const start = performance.now();
const pages = loadPages(folder);
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

function train(some: readonly Page[]): BlockModelData {
	const { rows, labels, weights, words } = examplesOf(some);
	const count = rows[0]?.length ?? 0;
	const { bias, trees } = boost(binRows(rows, count), labels, weights, OPTIONS);
	return { features: count, bias: Number(bias.toFixed(3)), trees, ...words };
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
