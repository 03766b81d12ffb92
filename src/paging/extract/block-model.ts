import { labelWords } from "./block-facts.ts";
import type { WordWeights } from "./block-features.ts";

/** The learned weights, as committed in `main-text-model.json`; `scripts/main-text/` trains them. */
export interface BlockModelData {
	/** Number of features that the trees were grown on. */
	readonly features: number;
	/**
	 * Each tree in preorder. An inner node is the feature's number, its threshold, and the place of the branch for
	 * larger values; a leaf is -1 and its value.
	 */
	readonly trees: readonly (readonly number[])[];
	readonly bias: number;
	/** Weights of words in hundredths; see {@link WordWeights}. */
	readonly labels: WordTable;
	readonly threadLabels: WordTable;
	readonly texts: WordTable;
	readonly threads: WordTable;
	readonly documentation: WordTable;
}

export type WordTable = Readonly<Record<string, number>>;

export interface BlockModel {
	/** The probability that a block with these features is main text. */
	probability(features: readonly number[]): number;
	readonly weights: WordWeights;
	readonly features: number;
}

export function createBlockModel(data: BlockModelData): BlockModel {
	const { bias, features } = data;
	const { roots, split, limit, above } = packTrees(data.trees);
	return {
		features,
		probability(values) {
			let total = bias;
			for (let tree = 0; tree < roots.length; tree++) {
				let at = roots[tree] as number;
				for (let feature = split[at] as number; feature >= 0; feature = split[at] as number) {
					at = (values[feature] as number) > (limit[at] as number) ? (above[at] as number) : at + 1;
				}
				total += limit[at] as number;
			}
			return 1 / (1 + Math.exp(-total));
		},
		weights: createWeights({
			label: lookup(data.labels),
			threadLabel: lookup(data.threadLabels),
			text: lookup(data.texts),
			thread: lookup(data.threads),
			documentation: lookup(data.documentation),
		}),
	};
}

/** All trees as one list of nodes: the feature (-1 for a leaf), its threshold or the leaf's value, the branch above. */
function packTrees(trees: BlockModelData["trees"]) {
	const nodes: { split: number; limit: number; above: number }[] = [];
	const roots = trees.map((tree) => {
		const root = nodes.length;
		const placeOf = new Map<number, number>();
		for (let at = 0; at < tree.length; ) {
			placeOf.set(at, nodes.length);
			const isLeaf = tree[at] === -1;
			nodes.push({
				split: tree[at] as number,
				limit: tree[at + 1] as number,
				above: isLeaf ? 0 : (tree[at + 2] as number),
			});
			at += isLeaf ? 2 : 3;
		}
		for (const node of nodes.slice(root))
			if (node.split >= 0) node.above = placeOf.get(node.above) as number;
		return root;
	});
	return {
		roots: Int32Array.from(roots),
		split: Int16Array.from(nodes, (node) => node.split),
		limit: Float64Array.from(nodes, (node) => node.limit),
		above: Int32Array.from(nodes, (node) => node.above),
	};
}

type Weigh = (word: string) => number;

function lookup(table: WordTable): Weigh {
	const weights = new Map(Object.entries(table));
	return (word) => (weights.get(word) ?? 0) / 100;
}

/** Sums the weights of words, within bounds: long labels must not outweigh everything. */
export function createWeights(
	weigh: Readonly<Record<"label" | "threadLabel" | "text" | "thread" | "documentation", Weigh>>,
): WordWeights {
	return {
		label: (label) => sum(labelWords(label), weigh.label, 4),
		threadLabel: (label) => sum(labelWords(label), weigh.threadLabel, 4),
		text: (words) => sum(words, weigh.text, 6),
		pageKind: (words) => {
			const list = [...words];
			return [sum(list, weigh.thread, 40), sum(list, weigh.documentation, 40)];
		},
	};
}

function sum(words: readonly string[], weigh: Weigh, bound: number): number {
	let total = 0;
	for (const word of words) total += weigh(word);
	return Math.max(-bound, Math.min(bound, total));
}
