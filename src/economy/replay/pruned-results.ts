import { sharedStart } from "../request.ts";
import type { SessionBlock } from "./assembly.ts";

/** Tokens of what stands for a pruned result: tool, arguments, size, a line of gist and how to get it back. */
const STUB_TOKENS = 75;

/** A result this small is not worth a stub. */
const LEAST_TOKENS = 2 * STUB_TOKENS;

/**
 * Results that a policy has pruned so far; what is pruned stays pruned. For the policies that pi-strata's own pruning
 * is compared with: that one is decided elsewhere, by the code that runs in a session.
 */
export interface PrunedResults {
	/** Takes the blocks of the next request, and returns how many of them are those of the request before. */
	follow(blocks: readonly SessionBlock[]): number;
	add(blocks: Iterable<SessionBlock>): void;
	/** The blocks with stubs for the pruned results. */
	blocks(): readonly SessionBlock[];
}

/** Begins with nothing pruned. One per replay. */
export function createPrunedResults(): PrunedResults {
	const stubs = new Map<number, SessionBlock>();
	let before: readonly SessionBlock[] = [];
	let shown: SessionBlock[] = [];
	/** Where the results of the request are. */
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

	/** The same each time, unless the block itself has another size by now. */
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

/** Whether a block could ever be pruned: a result of some size that is neither an error nor an image. */
export function isPrunable({ tokens, result }: SessionBlock): boolean {
	return result !== undefined && tokens > LEAST_TOKENS && !result.isError && !result.hasImage;
}

/** Tokens that pruning these would free. */
export function freedBy(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens - STUB_TOKENS, 0);
}
