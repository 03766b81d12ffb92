import { BlockFeatures } from "../../src/paging/extract/block-features.ts";
import { createWeights, type WordTable } from "../../src/paging/extract/block-model.ts";
import type { Page } from "./pages.ts";
import { WordCounts } from "./word-counts.ts";

/** What the trees are grown on: a row of features, a label and a weight for each block. */
export interface Examples {
	readonly rows: number[][];
	readonly labels: number[];
	readonly weights: number[];
	/** The words that the features know, for the stored model. */
	readonly words: Record<
		"labels" | "threadLabels" | "texts" | "threads" | "documentation",
		WordTable
	>;
}

export function examplesOf(pages: readonly Page[]): Examples {
	const counts = countWords(pages);
	const rows: number[][] = [];
	const labels: number[] = [];
	const weights: number[] = [];
	for (const page of pages) {
		if (page.isPartial) continue;
		const features = new BlockFeatures(page.tree, page.url, weightsWithout(page, counts));
		for (const [i, label] of page.labels.entries()) {
			rows.push(features.of(i));
			labels.push(label >= 0.5 ? 1 : 0);
			weights.push(page.weights[i] as number);
		}
	}
	return {
		rows,
		labels,
		weights,
		words: {
			labels: counts.labels.table(40),
			threadLabels: counts.threadLabels.table(50),
			texts: counts.texts.table(70),
			threads: counts.threads.table(120),
			documentation: counts.documentation.table(120),
		},
	};
}

type Counts = ReturnType<typeof countWords>;

const isThread = ({ kind }: Page) => (kind === "forum" ? 1 : 0);
const isDocumentation = ({ kind }: Page) => (kind === "documentation" ? 1 : 0);

function countWords(pages: readonly Page[]) {
	const counts = {
		labels: new WordCounts(0.4, 2),
		threadLabels: new WordCounts(0.4, 2),
		texts: new WordCounts(0.3, 2),
		threads: new WordCounts(0.18, 3),
		documentation: new WordCounts(0.15, 3),
	};
	for (const page of pages) {
		const { domain } = page;
		for (const [word, share] of page.labelShares) {
			counts.labels.add(word, share, domain);
			if (isThread(page)) counts.threadLabels.add(word, share, domain);
		}
		for (const [word, share] of page.textShares) counts.texts.add(word, share, domain);
		for (const word of page.labelSet) {
			counts.threads.add(word, isThread(page), domain);
			counts.documentation.add(word, isDocumentation(page), domain);
		}
	}
	return counts;
}

/** The page's own labels must not tell the model what its words mean. */
function weightsWithout(page: Page, counts: Counts) {
	const strong = (weight: number) => (Math.abs(weight) >= 1.2 ? weight : 0);
	return createWeights({
		label: (word) => counts.labels.weight(word, page.labelShares.get(word)),
		threadLabel: (word) =>
			counts.threadLabels.weight(word, isThread(page) ? page.labelShares.get(word) : undefined),
		text: (word) => counts.texts.weight(word, page.textShares.get(word)),
		thread: (word) => strong(counts.threads.weight(word, isThread(page))),
		documentation: (word) => strong(counts.documentation.weight(word, isDocumentation(page))),
	});
}
