import { sharedStart } from "../request.ts";
import type { SessionBlock } from "./assembly.ts";

/** Tokens of a stub: tool, arguments, size, a line of gist and how to restore the result. */
const STUB_TOKENS = 75;

/** A smaller result is not worth a stub. */
const LEAST_TOKENS = 2 * STUB_TOKENS;

/** For baseline policies only: pi-strata's pruning is replayed with its own code. */
export interface PrunedResults {
	/** Returns how many leading blocks equal those of the previous request. */
	follow(blocks: readonly SessionBlock[]): number;
	add(blocks: Iterable<SessionBlock>): void;
	blocks(): readonly SessionBlock[];
}

export function createPrunedResults(): PrunedResults {
	const stubs = new Map<number, SessionBlock>();
	let before: readonly SessionBlock[] = [];
	let shown: SessionBlock[] = [];
	/** Index of each result in the request. */
	let places = new Map<number, number>();

	return {
		follow(blocks) {
			const shared = sharedStart(before, blocks);
			const known = shared === before.length ? shared : 0;
			if (known === 0) places = new Map();
			const fresh = blocks.slice(known).map((block, index) => {
				if (block.result) places.set(block.id, known + index);
				return stubs.has(block.id) ? stubOf(block) : block;
			});
			shown = known === 0 ? fresh : shown.concat(fresh);
			before = blocks;
			return known;
		},
		add(blocks) {
			for (const { id } of blocks) {
				if (stubs.has(id)) continue;
				const at = places.get(id) as number;
				shown[at] = stubOf(before[at] as SessionBlock);
			}
		},
		blocks: () => shown,
	};

	/** Stable, unless the block's size has changed. */
	function stubOf(block: SessionBlock): SessionBlock {
		const { tokens, hash, id } = block;
		const size = Math.min(tokens, STUB_TOKENS);
		const known = stubs.get(id);
		if (known?.tokens === size) return known;
		const stub = { ...block, hash: `${hash}~stub`, tokens: size };
		stubs.set(id, stub);
		return stub;
	}
}

/** Not errors, images or small results. */
export function isPrunable({ tokens, result }: SessionBlock): boolean {
	return result !== undefined && tokens > LEAST_TOKENS && !result.isError && !result.hasImage;
}

export function freedBy(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens - STUB_TOKENS, 0);
}
