import type { SessionBlock } from "./assembly.ts";

/** Tokens of what stands for a pruned result: tool, arguments, size, a line of gist and how to get it back. */
export const STUB_TOKENS = 75;

/** Recent results are never pruned: what came in the latest turns, as far as it is among the newest tokens. */
const RECENT_TURNS = 2;
export const RECENT_TOKENS = 20_000;

/** A result this small is not worth a stub. */
const LEAST_TOKENS = 2 * STUB_TOKENS;

/** Results that have been pruned so far; what is pruned stays pruned. One per replay. */
export interface PrunedResults {
	/** The blocks with stubs for the pruned results. */
	apply(blocks: readonly SessionBlock[]): SessionBlock[];
	has(id: number): boolean;
	add(blocks: Iterable<SessionBlock>): void;
}

export function createPrunedResults(): PrunedResults {
	const ids = new Set<number>();
	return {
		apply: (blocks) => blocks.map((block) => (ids.has(block.id) ? stubOf(block) : block)),
		has: (id) => ids.has(id),
		add(blocks) {
			for (const { id } of blocks) ids.add(id);
		},
	};
}

/** Whether a block could ever be pruned: a result of some size that is neither an error nor an image. */
export function isPrunable({ tokens, result }: SessionBlock): boolean {
	return result !== undefined && tokens > LEAST_TOKENS && !result.isError && !result.hasImage;
}

/** Results that may be pruned now, oldest first: all but the recent ones and those that the model has not answered yet. */
export function prunableNow(
	blocks: readonly SessionBlock[],
	recentTokens = RECENT_TOKENS,
): SessionBlock[] {
	const answered = blocks.findLastIndex(({ kind }) => ANSWERS.has(kind));
	const found: SessionBlock[] = [];
	let turns = 0;
	let tokens = 0;
	for (let at = blocks.length - 1; at >= 0; at--) {
		const block = blocks[at] as SessionBlock;
		if (block.kind === "user" && blocks[at - 1]?.kind !== "user") turns++;
		if (block.kind !== "result") continue;
		tokens += block.tokens;
		const isRecent = turns < RECENT_TURNS && tokens <= recentTokens;
		if (at < answered && !isRecent && isPrunable(block)) found.push(block);
	}
	return found.reverse();
}

const ANSWERS: ReadonlySet<SessionBlock["kind"]> = new Set(["text", "call", "thinking"]);

/** Tokens that pruning these would free. */
export function freedBy(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens - STUB_TOKENS, 0);
}

/** The last block before everything that can still be pruned: what comes before it will not change any more. */
export function frontierOf(blocks: readonly SessionBlock[]): number | undefined {
	const first = blocks.findIndex(isPrunable);
	return first > 0 ? first - 1 : undefined;
}

function stubOf(block: SessionBlock): SessionBlock {
	return { ...block, hash: `${block.hash}~stub`, tokens: Math.min(block.tokens, STUB_TOKENS) };
}
