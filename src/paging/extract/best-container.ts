import type { BlockFacts } from "./block-facts.ts";
import { AREA, type PageTree, type TreeNode } from "./page-tree.ts";

/** The element that holds most of the sentences: each paragraph counts for its parent, and half for the one around it. */
export function bestContainer(
	{ blocks, nodes }: PageTree,
	facts: readonly BlockFacts[],
	linkShare: (node: TreeNode) => number,
): TreeNode {
	const scores = new Map<TreeNode, number>();
	for (const [i, block] of blocks.entries()) {
		const { chars, commas, proseWords } = facts[i] as BlockFacts;
		const { areas } = block.node;
		if (proseWords === 0 || (areas & (AREA.nav | AREA.footer | AREA.hidden | AREA.dialog)) !== 0)
			continue;
		const score = 1 + Math.min(commas, 10) + Math.min(3, chars / 100);
		const isParagraph = /^(?:p|li|h\d|blockquote|pre|td|dd|figcaption|span)$/.test(block.node.name);
		let at = isParagraph ? block.node.parent : block.node;
		for (const share of [1, 0.5, 0.25]) {
			if (!at) break;
			scores.set(at, (scores.get(at) ?? 0) + score * share);
			at = at.parent;
		}
	}
	let best = nodes[0] as TreeNode;
	let most = 0;
	for (const [node, score] of scores) {
		const adjusted = score * (1 - linkShare(node));
		if (adjusted > most) [best, most] = [node, adjusted];
	}
	return best;
}
