import { bestContainer } from "./best-container.ts";
import {
	type BlockFacts,
	factsOf,
	generatorKind,
	labelWords,
	pushOwnFeatures,
	SHORT_TEXT,
	textWords,
} from "./block-facts.ts";
import type { PageTree, TextBlock, TreeNode } from "./page-tree.ts";

/** Learned weights of words: above 0 for words of main text. All are bounded. */
export interface WordWeights {
	/** Of a class or id, on any page. */
	label(label: string): number;
	/** Of a class or id, on pages of threads. */
	threadLabel(label: string): number;
	/** Of a short text. */
	text(words: readonly string[]): number;
	/** How much the words of a page's classes and ids speak for a thread, and for documentation. */
	pageKind(words: Iterable<string>): readonly [thread: number, documentation: number];
}

/** All words of a page's classes and ids. */
export function pageLabels({ nodes }: PageTree): Set<string> {
	const labels = new Set(nodes.map(({ label }) => label));
	const words = new Set<string>();
	for (const label of labels) for (const word of labelWords(label)) words.add(word);
	return words;
}

/** Computes the numbers by which the model judges a block. Sums over ranges of blocks are taken once for the page. */
export class BlockFeatures {
	readonly count: number;
	readonly #tree: PageTree;
	readonly #weights: WordWeights;
	readonly #facts: BlockFacts[];
	/** Sums over the blocks before each block. */
	readonly #sums: Record<SumName, Float64Array>;
	readonly #groups = new Map<string, Group>();
	readonly #groupOf: Group[];
	readonly #labelScores = new Map<string, LabelScore>();
	readonly #nodeScores = new Map<TreeNode, LabelScore>();
	/** For each node, how many siblings are like it, itself included. */
	readonly #alike: Int32Array;
	readonly #best: TreeNode;
	readonly #page: readonly number[];
	readonly #title: ReadonlySet<string>;
	readonly #heading: Int32Array;
	readonly #firstHeading: number;
	readonly #copies = new Map<string, number>();

	constructor(tree: PageTree, url: string, weights: WordWeights) {
		const { blocks } = tree;
		this.count = blocks.length;
		this.#tree = tree;
		this.#weights = weights;
		this.#facts = blocks.map(factsOf);
		this.#sums = sumsOf(this.#facts);
		this.#groupOf = blocks.map((block, i) => this.#groupAt(block, i));
		this.#best = bestContainer(tree, this.#facts, (node) => this.#linkShare(node));
		this.#alike = countAlike(tree.nodes);
		this.#heading = new Int32Array(blocks.length).fill(-1);
		let heading = -1;
		let firstHeading = -1;
		for (const [i, { level, key }] of this.#facts.entries()) {
			this.#heading[i] = heading;
			if (level > 0) heading = i;
			if (level === 1 && firstHeading < 0) firstHeading = i;
			this.#copies.set(key, (this.#copies.get(key) ?? 0) + 1);
		}
		this.#firstHeading = firstHeading;
		this.#title = new Set(textWords(tree.signals.title));
		this.#page = this.#pageFeatures(url);
	}

	/** The share of the page's sentences, by words, that the best container holds. */
	get focus(): number {
		const { first, end } = this.#best;
		const all = this.#total("proseWords", 0, this.count);
		return all > 0 ? this.#total("proseWords", first, end) / all : 0;
	}

	/** Words of the block. */
	words(at: number): number {
		return this.#facts[at]?.words ?? 0;
	}

	/** The features of block `at`, in a fixed order. */
	of(at: number): number[] {
		const block = this.#tree.blocks[at] as TextBlock;
		const facts = this.#facts[at] as BlockFacts;
		const { node } = block;
		const out: number[] = [];
		pushOwnFeatures(out, block, facts);
		this.#pushTextFeatures(out, facts, at);
		this.#pushLabelFeatures(out, block);
		this.#pushChainFeatures(out, node);
		this.#pushRepetitionFeatures(out, node);
		this.#pushBestFeatures(out, at, node);
		this.#pushGroupFeatures(out, at);
		this.#pushNeighbourFeatures(out, at);
		for (const value of this.#page) out.push(value);
		return out;
	}

	#pushTextFeatures(out: number[], { words, key }: BlockFacts, at: number): void {
		if (words === 0 || words > SHORT_TEXT) {
			out.push(0, -1);
			return;
		}
		const own = textWords(this.#tree.blocks[at]?.text ?? "");
		const shared = own.filter((word) => this.#title.has(word)).length;
		out.push(this.#weights.text(own), key.length > 0 ? shared / Math.max(1, own.length) : 0);
	}

	#pushLabelFeatures(out: number[], block: TextBlock): void {
		let [sum, low, high, threadSum, threadLow, threadHigh] = [0, 0, 0, 0, 0, 0];
		const chain: LabelScore[] = [];
		for (
			let at: TreeNode | undefined = block.node, steps = 0;
			at && steps < MAX_CHAIN;
			at = at.parent, steps++
		) {
			const score = this.#nodeScore(at);
			chain.push(score);
			sum += score.any;
			low = Math.min(low, score.any);
			high = Math.max(high, score.any);
			threadSum += score.thread;
			threadLow = Math.min(threadLow, score.thread);
			threadHigh = Math.max(threadHigh, score.thread);
		}
		const [own = NO_SCORE, parent = NO_SCORE, grand = NO_SCORE, great = NO_SCORE] = chain;
		const inline = this.#labelScore(block.inlineLabel);
		out.push(inline.any, own.any, parent.any, grand.any, great.any, sum, low, high);
		out.push(chain.at(-3)?.any ?? 0, chain.at(-4)?.any ?? 0);
		out.push(inline.thread, own.thread, parent.thread, grand.thread);
		out.push(threadSum, threadLow, threadHigh);
	}

	#nodeScore(node: TreeNode): LabelScore {
		const known = this.#nodeScores.get(node);
		if (known !== undefined) return known;
		const score = this.#labelScore(node.label);
		this.#nodeScores.set(node, score);
		return score;
	}

	#labelScore(label: string): LabelScore {
		if (label === "") return NO_SCORE;
		let score = this.#labelScores.get(label);
		if (score === undefined) {
			score = { any: this.#weights.label(label), thread: this.#weights.threadLabel(label) };
			this.#labelScores.set(label, score);
		}
		return score;
	}

	#total(name: SumName, from: number, to: number): number {
		const sums = this.#sums[name];
		return (sums[to] as number) - (sums[from] as number);
	}

	#linkShare({ first, end }: TreeNode): number {
		return this.#total("linkChars", first, end) / Math.max(1, this.#total("chars", first, end));
	}

	#pushChainFeatures(out: number[], node: TreeNode): void {
		const { blocks } = this.#tree;
		const pageWords = Math.max(1, this.#total("words", 0, blocks.length));
		const until = out.length + 4 * 5;
		// The first four ancestors that hold more than the one below.
		let at: TreeNode | undefined = node;
		let last = -1;
		for (let steps = 0; out.length < until; steps++) {
			while (at?.parent && at.end - at.first === last && steps++ < MAX_CHAIN) at = at.parent;
			const { first, end } = at ?? node;
			const size = Math.max(1, end - first);
			const words = this.#total("words", first, end);
			out.push(
				words / pageWords,
				this.#total("linkChars", first, end) / Math.max(1, this.#total("chars", first, end)),
				Math.log1p(size),
				this.#total("sentences", first, end) / Math.max(1, words / 10),
				this.#total("proseWords", first, end) / Math.max(1, words),
			);
			last = end - first;
		}
		out.push(node.depth);
	}

	/** Items of a page repeat: posts of a thread have many words, teasers few and links. */
	#pushRepetitionFeatures(out: number[], node: TreeNode): void {
		let [most, words, links, prose, level] = [1, 0, 0, 0, -1];
		for (
			let at: TreeNode | undefined = node, steps = 0;
			at && steps < MAX_CHAIN;
			at = at.parent, steps++
		) {
			const count = this.#alike[at.index] as number;
			const size = this.#total("words", at.first, at.end);
			if (count < 2 || size < 5 || count * size <= most * words) continue;
			[most, words, level] = [count, size, steps];
			links = this.#linkShare(at);
			prose = this.#total("proseWords", at.first, at.end) / Math.max(1, size);
		}
		out.push(Math.log1p(most), Math.log1p(words), links, prose, level);
	}

	#pushBestFeatures(out: number[], at: number, node: TreeNode): void {
		const best = this.#best;
		const { first, end } = best;
		const isInside = at >= first && at < end;
		let shared: TreeNode | undefined = best;
		let up = 0;
		while (shared && !(at >= shared.first && at < shared.end)) {
			shared = shared.parent;
			up++;
		}
		const pageWords = Math.max(1, this.#total("words", 0, this.count));
		const bestWords = Math.max(1, this.#total("words", first, end));
		const gap =
			at < first ? -this.#total("words", at, first) : at >= end ? this.#total("words", end, at) : 0;
		out.push(
			isInside ? 1 : 0,
			Math.min(up, 20),
			isInside ? node.depth - best.depth : -1,
			Math.sign(gap) * Math.log1p(Math.abs(gap)),
			isInside ? this.#total("words", first, at) / bestWords : -1,
			bestWords / pageWords,
			this.#total("words", 0, at) / pageWords,
			Math.log1p(this.#total("words", at, this.count)),
		);
	}

	#groupAt({ node, text }: TextBlock, at: number): Group {
		const { parent } = node;
		const key = `${node.name}.${node.label}>${parent?.name}.${parent?.label}>${parent?.parent?.name}`;
		let group = this.#groups.get(key);
		if (!group) {
			group = { blocks: 0, words: 0, linkChars: 0, chars: 0, first: at, sentences: 0 };
			this.#groups.set(key, group);
		}
		const facts = this.#facts[at] as BlockFacts;
		group.blocks++;
		group.words += facts.words;
		group.sentences += facts.sentences;
		group.linkChars += facts.linkChars;
		group.chars += text.length;
		return group;
	}

	#pushGroupFeatures(out: number[], at: number): void {
		const group = this.#groupOf[at] as Group;
		const pageWords = Math.max(1, this.#total("words", 0, this.count));
		const { first, end } = this.#best;
		const isInBest = group.first >= first && group.first < end;
		out.push(
			Math.log1p(group.blocks),
			group.words / pageWords,
			group.words / group.blocks,
			group.linkChars / Math.max(1, group.chars),
			group.sentences / group.blocks,
			isInBest ? 1 : 0,
			Math.min(5, this.#copies.get(this.#facts[at]?.key ?? "") ?? 1),
		);
	}

	#pushNeighbourFeatures(out: number[], at: number): void {
		for (const step of [-2, -1, 1, 2]) {
			const facts = this.#facts[at + step];
			out.push(
				facts ? Math.log1p(facts.words) : -1,
				facts ? facts.linkChars / Math.max(1, facts.chars) : -1,
				facts?.level ?? -1,
				facts?.sentences ?? -1,
			);
		}
		for (const reach of [3, 8]) {
			const from = Math.max(0, at - reach);
			const to = Math.min(this.count, at + reach + 1);
			const chars = Math.max(1, this.#total("chars", from, to));
			out.push(
				Math.log1p(this.#total("words", from, to)),
				this.#total("linkChars", from, to) / chars,
				this.#total("sentences", from, to),
			);
		}
		const heading = this.#heading[at] as number;
		const headed = this.#facts[heading];
		out.push(
			heading < 0 ? -1 : Math.log1p(at - heading),
			headed?.level ?? 0,
			headed ? headed.cue : -1,
			this.#firstHeading < 0
				? 0
				: Math.sign(at - this.#firstHeading) * Math.log1p(Math.abs(at - this.#firstHeading)),
			this.#firstHeading < 0
				? 0
				: Math.log1p(
						this.#total(
							"words",
							Math.min(at, this.#firstHeading),
							Math.max(at, this.#firstHeading),
						),
					),
		);
	}

	#pageFeatures(url: string): number[] {
		const { signals } = this.#tree;
		const chars = Math.max(1, this.#total("chars", 0, this.count));
		const words = this.#total("words", 0, this.count);
		const { hostname = "", pathname = "" } = URL.parse(url) ?? {};
		const place = `${hostname}${pathname}`.toLowerCase();
		const [thread, documentation] = this.#weights.pageKind(pageLabels(this.#tree));
		return [
			thread,
			documentation,
			generatorKind(signals.generator),
			Math.log1p(words),
			Math.log1p(this.count),
			this.#total("linkChars", 0, this.count) / chars,
			this.#total("proseWords", 0, this.count) / Math.max(1, words),
			Math.log1p(signals.codeBlocks),
			Math.log1p(signals.terms),
			signals.isArticle ? 1 : 0,
			signals.kind,
			/\bdocs?\b|\/docs|documentation|reference|manual|\bapi\b|wiki|learn|tutorial|guide/.test(
				place,
			)
				? 1
				: 0,
			/forum|thread|topic|question|community|discuss|\/t\/|viewtopic|comments|boards/.test(place)
				? 1
				: 0,
			/product|shop|store|\/p\/|\/dp\/|item/.test(place) ? 1 : 0,
			/category|collection|search|\/tag|list|browse/.test(place) ? 1 : 0,
			/\d{4}\/\d{2}|news|blog|article|story|post/.test(place) ? 1 : 0,
			pathname.split("/").filter(Boolean).length,
			this.#total("level", 0, this.count) / Math.max(1, this.count),
		];
	}
}

const MAX_CHAIN = 12;

/** Siblings with the same name and the same first class are alike. Those without text count for nothing. */
function countAlike(nodes: readonly TreeNode[]): Int32Array {
	const groups = new Map<string, number>();
	const counts: number[] = [];
	const groupOf = nodes.map(({ name, label, parent, first, end }) => {
		const key = `${parent?.index} ${name} ${/^[^\s\d]*/.exec(label)?.[0]}`;
		let group = groups.get(key);
		if (group === undefined) {
			group = counts.push(0) - 1;
			groups.set(key, group);
		}
		if (end > first) counts[group] = (counts[group] as number) + 1;
		return group;
	});
	return Int32Array.from(groupOf, (group) => Math.max(1, counts[group] as number));
}

interface LabelScore {
	readonly any: number;
	readonly thread: number;
}

const NO_SCORE: LabelScore = { any: 0, thread: 0 };

interface Group {
	blocks: number;
	words: number;
	linkChars: number;
	chars: number;
	sentences: number;
	readonly first: number;
}

type SumName = "words" | "chars" | "linkChars" | "sentences" | "proseWords" | "level";

function sumsOf(facts: readonly BlockFacts[]): Record<SumName, Float64Array> {
	const sum = (pick: (facts: BlockFacts) => number) => {
		const sums = new Float64Array(facts.length + 1);
		for (const [i, one] of facts.entries()) sums[i + 1] = (sums[i] as number) + pick(one);
		return sums;
	};
	return {
		words: sum(({ words }) => words),
		chars: sum(({ chars }) => chars),
		linkChars: sum(({ linkChars }) => linkChars),
		sentences: sum(({ sentences }) => sentences),
		proseWords: sum(({ proseWords }) => proseWords),
		level: sum(({ level }) => (level > 0 ? 1 : 0)),
	};
}
