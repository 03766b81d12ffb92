import { BlockFeatures } from "./block-features.ts";
import type { BlockModel } from "./block-model.ts";
import { markClutter } from "./clutter.ts";
import { SIGNATURE } from "./elements.ts";
import type { KeptText } from "./linear-html.ts";
import { AREA, headingLevel, type PageTree, type TextBlock, type TreeNode } from "./page-tree.ts";
import { Templates } from "./templates.ts";

/** Returns for each block whether it is main text. */
export function decideBlocks(tree: PageTree, url: string, model: BlockModel): boolean[] {
	const features = new BlockFeatures(tree, url, model.weights);
	return decideByChances(tree, features, chancesOf(features, model));
}

/** More blocks than this are judged by samples: neighbours share a chance, so that time stays bounded. */
const MAX_JUDGED = 20_000;

function chancesOf(features: BlockFeatures, model: BlockModel): number[] {
	const step = Math.ceil(features.count / MAX_JUDGED);
	const chances: number[] = [];
	for (let i = 0; i < features.count; i++) {
		chances.push(i % step === 0 ? model.probability(features.of(i)) : (chances[i - 1] as number));
	}
	return chances;
}

/** The decision, from the chance of each block to be main text. */
export function decideByChances(
	tree: PageTree,
	features: BlockFeatures,
	judged: readonly number[],
): boolean[] {
	const page: Page = {
		tree,
		features,
		chances: withVetoes(tree, smoothed(tree, features, judged)),
	};
	const threshold = thresholdOf(page);
	const kept = page.chances.map((chance) => chance >= threshold);
	decideWholes(page, kept, threshold);
	keepContents(page, kept);
	keepCode(page, kept);
	headWhatFollows(page, kept);
	keepSomething(page, kept);
	dropCopies(page, kept);
	keepShortPage(page, kept);
	return kept;
}

interface Page {
	readonly tree: PageTree;
	readonly features: BlockFeatures;
	readonly chances: readonly number[];
}

/** Blocks of one template (the texts of all posts, say) draw each other's chances by this share. */
const GROUP_SHARE = 0.7;

function smoothed(
	{ blocks, nodes }: PageTree,
	features: BlockFeatures,
	chances: readonly number[],
): number[] {
	const templates = new Templates(nodes);
	const groups = new Map<number, { sum: number; words: number; count: number }>();
	const groupOf = blocks.map(({ node }, i) => {
		const key = templates.of(node);
		const group = groups.get(key) ?? { sum: 0, words: 0, count: 0 };
		const words = features.words(i) + 1;
		group.sum += (chances[i] as number) * words;
		group.words += words;
		group.count++;
		groups.set(key, group);
		return group;
	});
	return chances.map((chance, i) => {
		const { sum, words, count } = groupOf[i] as (typeof groupOf)[number];
		return count < 3 ? chance : (1 - GROUP_SHARE) * chance + (GROUP_SHARE * sum) / words;
	});
}

/** What is clutter by any standard is not main text, whatever its chance. */
function withVetoes(tree: PageTree, chances: readonly number[]): number[] {
	const clutter = markClutter(tree);
	return chances.map((chance, i) => (clutter[i] === 1 ? 0 : chance));
}

/** How the threshold follows from the page's surest words: so many of them, a share of their mean chance, within bounds. */
const ARTICLE = { words: 150, share: 0.5, least: 0.15, most: 0.5 };
const OTHER_PAGE = { words: 600, share: 0.4, least: 0.05, most: 0.5 };

/** A part of the mean chance of the page's surest words: on unusual pages the model is unsure of everything. */
function thresholdOf({ tree, features, chances }: Page): number {
	const isArticle = tree.signals.isArticle || features.focus > FOCUSED;
	const { words: enough, share, least, most } = isArticle ? ARTICLE : OTHER_PAGE;
	const order = [...chances.keys()].sort((a, b) => (chances[b] as number) - (chances[a] as number));
	let [sum, seen] = [0, 0];
	for (const i of order) {
		const words = Math.min(features.words(i), enough - seen);
		sum += (chances[i] as number) * words;
		seen += words;
		if (seen >= enough) break;
	}
	const sure = seen > 0 ? sum / seen : 1;
	return Math.max(least, Math.min(most, share * sure));
}

/** One text, not a collection of texts: most sentences are in one container. */
const FOCUSED = 0.7;

/** A table or list is kept or dropped as a whole, by the mean chance of its words, but for blocks that are certain. */
function decideWholes({ tree, features, chances }: Page, kept: boolean[], threshold: number): void {
	for (const { name, first, end, parent } of tree.nodes) {
		if (name !== "table" && name !== "ul" && name !== "ol" && name !== "dl") continue;
		if (end - first < 2 || isInsideWhole(parent)) continue;
		let [sum, words] = [0, 0];
		for (let i = first; i < end; i++) {
			const weight = features.words(i);
			sum += (chances[i] as number) * weight;
			words += weight;
		}
		if (words === 0) continue;
		const isKept = sum / words >= threshold;
		for (let i = first; i < end; i++) {
			const chance = chances[i] as number;
			if (isKept ? chance >= 0.15 : chance < 0.85) kept[i] = isKept;
		}
	}
}

function isInsideWhole(node: TreeNode | undefined): boolean {
	return node !== undefined && (node.areas & (AREA.table | AREA.list | AREA.terms)) !== 0;
}

/** Sphinx lists the pages below a text in the text; such a list goes with what is before it. */
function keepContents({ tree }: Page, kept: boolean[]): void {
	for (const { label, first, end, areas } of tree.nodes) {
		if (first === 0 || first === end || (areas & AROUND) !== 0 || !CONTENTS.test(label)) continue;
		if (kept[first - 1]) kept.fill(true, first, end);
	}
}

const CONTENTS = /(?:^|\s)toctree-wrapper(?:$|\s)/;

const AROUND = AREA.nav | AREA.footer | AREA.aside | AREA.hidden | AREA.dialog;

/** Code goes with the text around it, whatever it looks like. */
function keepCode(page: Page, kept: boolean[]): void {
	const { blocks, nodes } = page.tree;
	const body = bodyOf(page, kept);
	const isCode = ({ isPre, node }: TextBlock) => isPre || SIGNATURE.test(node.label);
	for (const [i, block] of blocks.entries()) {
		const { node } = block;
		if (!isCode(block) || kept[i] || (node.areas & AROUND) !== 0) continue;
		const isInBody = body.first <= i && i < body.end && (node.areas & AREA.comment) === 0;
		const isBeside = kept[i - 1] === true || (kept[i + 1] === true && !blocks[i + 1]?.isPre);
		kept[i] = isInBody || isBeside;
	}
	// A list of examples with their code is one piece.
	const code = sums(blocks.map(({ isPre }, i) => (isPre && kept[i] ? 1 : 0)));
	for (const { name, first, end, areas } of nodes) {
		if (!LISTS.has(name) || (areas & AROUND) !== 0 || first < body.first || end > body.end)
			continue;
		if (code[first] !== code[end]) kept.fill(true, first, end);
	}
}

/** The sum of all values before each place. */
function sums(values: readonly number[]): number[] {
	const found = [0];
	for (const [i, value] of values.entries()) found.push((found[i] as number) + value);
	return found;
}

const LISTS = new Set(["ul", "ol", "dl"]);

/** The smallest element with nearly all of the words that are kept, and with the little that stands around it. */
function bodyOf({ tree: { nodes }, features }: Page, kept: readonly boolean[]) {
	const words = sums(kept.map((_, i) => features.words(i)));
	const keptWords = sums(kept.map((isKept, i) => (isKept ? features.words(i) : 0)));
	const inside = (counts: readonly number[], { first, end }: Pick<TreeNode, "first" | "end">) =>
		(counts[end] as number) - (counts[first] as number);
	const all = keptWords.at(-1) as number;
	let body = nodes[0] as TreeNode;
	for (const node of nodes)
		if (
			inside(keptWords, node) >= BODY_SHARE * all &&
			node.end - node.first <= body.end - body.first
		)
			body = node;
	const limit = inside(words, body) + FRAME_WORDS;
	while (body.parent && inside(words, body.parent) <= limit) body = body.parent;
	return body;
}

const BODY_SHARE = 0.9;
/** The signature above a description, its title. */
const FRAME_WORDS = 40;

/** A heading goes with what follows it. */
function headWhatFollows({ tree: { blocks }, chances }: Page, kept: boolean[]): void {
	for (let i = blocks.length - 1; i >= 0; i--) {
		if (headingLevel(blocks[i] as TextBlock) < 2) continue;
		const chance = chances[i] as number;
		if (kept[i + 1] === true && chance >= 0.08) kept[i] = true;
		else if (kept[i + 1] === false && kept[i + 2] !== true && chance < 0.8) kept[i] = false;
	}
}

/** Shorter texts may be repeated on purpose. */
const MIN_COPY_WORDS = 12;

/** Of identical texts in different containers, the one with the highest chance stays. */
function dropCopies({ tree: { blocks }, features, chances }: Page, kept: boolean[]): void {
	const first = new Map<string, number>();
	for (const [i, { text, node, isPre }] of blocks.entries()) {
		if (!kept[i] || isPre || features.words(i) < MIN_COPY_WORDS) continue;
		const other = first.get(text);
		if (other === undefined) {
			first.set(text, i);
			continue;
		}
		if (blocks[other]?.node.parent === node.parent) continue;
		const worse = (chances[i] as number) > (chances[other] as number) ? other : i;
		kept[worse] = false;
		if (worse === other) first.set(text, i);
	}
}

/** If nothing passed, what comes closest stays, rather than the whole page with its menus. */
function keepSomething({ tree: { blocks }, chances }: Page, kept: boolean[]): void {
	if (kept.includes(true)) return;
	let most = 0;
	for (const chance of chances) most = Math.max(most, chance);
	for (const [i, { node }] of blocks.entries())
		kept[i] = (chances[i] as number) >= 0.3 * most && (node.areas & AROUND) === 0;
}

/** On a page of so few words, what is not surely clutter stays. */
const SHORT_PAGE_WORDS = 60;

function keepShortPage({ tree: { blocks }, features, chances }: Page, kept: boolean[]): void {
	let [all, keptWords] = [0, 0];
	for (const [i, isKept] of kept.entries()) {
		all += features.words(i);
		if (isKept) keptWords += features.words(i);
	}
	if (keptWords > 0 && (all > SHORT_PAGE_WORDS * 4 || keptWords > SHORT_PAGE_WORDS)) return;
	const isClutter = (i: number) =>
		keptWords > 0 &&
		((chances[i] as number) < 0.1 || ((blocks[i]?.node.areas ?? 0) & AROUND) !== 0);
	for (const i of kept.keys()) kept[i] ||= !isClutter(i);
}

/** The decision about blocks as one about the pieces of the page's text. */
export function keptText({ blockOfText }: PageTree, kept: readonly boolean[]): KeptText {
	const byPiece = new Uint8Array(blockOfText.length + 1);
	let next = 0;
	for (let i = blockOfText.length - 1; i >= 0; i--) {
		const block = blockOfText[i] as number;
		if (block >= 0) next = kept[block] ? 1 : 0;
		byPiece[i] = next;
	}
	byPiece[blockOfText.length] = byPiece[blockOfText.length - 1] ?? 1;
	return {
		text: (piece) => byPiece[piece] === 1,
		between: (piece) => byPiece[piece] === 1 && (piece === 0 || byPiece[piece - 1] === 1),
	};
}
