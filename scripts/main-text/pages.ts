/** Pages with their gold texts, and what is counted on each once. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { labelWords, SHORT_TEXT, textWords } from "../../src/paging/extract/block-facts.ts";
import { pageLabels } from "../../src/paging/extract/block-features.ts";
import { type PageTree, readPageTree, type TreeNode } from "../../src/paging/extract/page-tree.ts";
import { decodeText } from "../../src/paging/fetch/content.ts";
import { goldShare, labelBlocks, wordsOf } from "./labels.ts";
import { Shares } from "./word-counts.ts";

export interface Page {
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

/** An entry of `truth.json`. */
interface Truth {
	url?: string;
	type?: string;
	articleBody?: string;
	ground_truth?: { main_content?: string };
}

/** The pages of the folder and of its `kinds/`; `bench/page-quality.ts` describes the files. */
export function loadPages(folder: string): Page[] {
	return [...pagesIn(folder, "gold"), ...pagesIn(join(folder, "kinds"), "kinds")];
}

function* pagesIn(path: string, set: Page["set"]): Generator<Page> {
	if (!existsSync(join(path, "truth.json"))) return;
	const truths = JSON.parse(readFileSync(join(path, "truth.json"), "utf8"));
	for (const [id, truth] of Object.entries<Truth>(truths)) {
		const bytes = gunzipSync(readFileSync(join(path, "html", `${id}.html.gz`)));
		const html = decodeText(bytes, { contentType: "text/html", isHtml: true }).text;
		const gold = (set === "gold" ? truth.articleBody : truth.ground_truth?.main_content) ?? "";
		const url = truth.url ?? "";
		const tree = readPageTree(html);
		const labels = labelBlocks(tree, gold);
		const host = URL.parse(url)?.hostname ?? id;
		yield {
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
			labelShares: labelShares(tree, labels),
			textShares: textShares(tree, labels),
			labelSet: pageLabels(tree),
			isPartial: truth.type === "documentation" && goldShare(tree, labels) < 0.6,
		};
	}
}

/** Every page counts the same, and within a page long blocks count more. */
function weightsOf({ blocks }: PageTree, gold: string): number[] {
	const size = wordsOf(gold).length + 50;
	return blocks.map(({ text }) => {
		const words = wordsOf(text).length;
		return Math.min(40, (300 * words) / size) + 0.25;
	});
}

function labelShares({ blocks }: PageTree, labels: readonly number[]): Map<string, number> {
	const shares = new Shares();
	const known = new Map<TreeNode, string[]>();
	for (const [i, block] of blocks.entries()) {
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

function textShares({ blocks }: PageTree, labels: readonly number[]): Map<string, number> {
	const shares = new Shares();
	for (const [i, { text }] of blocks.entries()) {
		const words = new Set(textWords(text));
		if (words.size > SHORT_TEXT) continue;
		for (const word of words) shares.add(word, 1, labels[i] as number);
	}
	return shares.result();
}
