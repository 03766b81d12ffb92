import type { SessionBlock } from "../assembly.ts";
import type { ReplayPolicy } from "../policy.ts";
import { createPrunedResults, freedBy, isPrunable } from "../pruned-results.ts";
import { requestOf } from "./append-only.ts";

/** What a batch must free. */
const BATCH_TOKENS = 20_000;

/** Recent results are never pruned: what came in the latest turns, as far as it is among the newest tokens. */
const RECENT_TURNS = 2;
const RECENT_TOKENS = 20_000;

/** Old results go in batches of a fixed size, whatever that costs at the moment. */
export const pruneBatch: ReplayPolicy = {
	name: "prune-batch",
	description: "old tool results go whenever 20,000 tokens of them have come together",
	*requests(session) {
		const pruned = createPrunedResults();
		/** No result before this block can be pruned any more, or ever. */
		let from = 0;
		for (const step of session.steps()) {
			if (pruned.follow(step.blocks) === 0) from = 0;
			from = firstPrunable(pruned.blocks(), from);
			const candidates = prunableNow(pruned.blocks(), from);
			if (freedBy(candidates) >= BATCH_TOKENS) pruned.add(candidates);
			yield requestOf(step, [...pruned.blocks()]);
		}
	},
};

/** Results that may be pruned now, oldest first: all but the recent ones and those that the model has not answered yet. */
function prunableNow(blocks: readonly SessionBlock[], from: number): SessionBlock[] {
	let isAnswered = false;
	const found: SessionBlock[] = [];
	let turns = 0;
	let tokens = 0;
	for (let at = blocks.length - 1; at >= from; at--) {
		const block = blocks[at] as SessionBlock;
		if (ANSWERS.has(block.kind)) isAnswered = true;
		if (block.kind === "user" && blocks[at - 1]?.kind !== "user") turns++;
		if (block.kind !== "result") continue;
		tokens += block.tokens;
		const isRecent = turns < RECENT_TURNS && tokens <= RECENT_TOKENS;
		if (isAnswered && !isRecent && isPrunable(block)) found.push(block);
	}
	return found.reverse();
}

function firstPrunable(blocks: readonly SessionBlock[], from: number): number {
	let at = from;
	while (at < blocks.length && !isPrunable(blocks[at] as SessionBlock)) at++;
	return at;
}

const ANSWERS: ReadonlySet<SessionBlock["kind"]> = new Set(["text", "call", "thinking"]);
