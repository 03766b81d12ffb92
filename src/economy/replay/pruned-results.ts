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
	/** The blocks with stubs for the pruned results. */
	apply(blocks: readonly SessionBlock[]): SessionBlock[];
	add(blocks: Iterable<SessionBlock>): void;
}

/** Begins with nothing pruned. One per replay. */
export function createPrunedResults(): PrunedResults {
	const ids = new Set<number>();
	return {
		apply: (blocks) => blocks.map((block) => (ids.has(block.id) ? stubOf(block) : block)),
		add(blocks) {
			for (const { id } of blocks) ids.add(id);
		},
	};
}

/** Whether a block could ever be pruned: a result of some size that is neither an error nor an image. */
export function isPrunable({ tokens, result }: SessionBlock): boolean {
	return result !== undefined && tokens > LEAST_TOKENS && !result.isError && !result.hasImage;
}

/** Tokens that pruning these would free. */
export function freedBy(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens - STUB_TOKENS, 0);
}

function stubOf(block: SessionBlock): SessionBlock {
	return { ...block, hash: `${block.hash}~stub`, tokens: Math.min(block.tokens, STUB_TOKENS) };
}
