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
		for (const step of session.steps()) {
			const candidates = prunableNow(pruned.apply(step.blocks));
			if (freedBy(candidates) >= BATCH_TOKENS) pruned.add(candidates);
			yield requestOf(step, pruned.apply(step.blocks));
		}
	},
};

/** Results that may be pruned now, oldest first: all but the recent ones and those that the model has not answered yet. */
function prunableNow(blocks: readonly SessionBlock[]): SessionBlock[] {
	const answered = blocks.findLastIndex(({ kind }) => ANSWERS.has(kind));
	const found: SessionBlock[] = [];
	let turns = 0;
	let tokens = 0;
	for (let at = blocks.length - 1; at >= 0; at--) {
		const block = blocks[at] as SessionBlock;
		if (block.kind === "user" && blocks[at - 1]?.kind !== "user") turns++;
		if (block.kind !== "result") continue;
		tokens += block.tokens;
		const isRecent = turns < RECENT_TURNS && tokens <= RECENT_TOKENS;
		if (at < answered && !isRecent && isPrunable(block)) found.push(block);
	}
	return found.reverse();
}

const ANSWERS: ReadonlySet<SessionBlock["kind"]> = new Set(["text", "call", "thinking"]);
