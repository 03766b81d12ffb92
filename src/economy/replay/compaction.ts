import { CompactionSearch, type MissedCompaction } from "../missed-compaction.ts";
import { promptSize } from "./billed.ts";
import type { ReplaySession } from "./requests.ts";
import { tokensOf } from "./step-prices.ts";

/** The compaction that would have saved most; `undefined` if none would have paid. */
export function findMissedCompaction(session: ReplaySession): MissedCompaction | undefined {
	const search = new CompactionSearch();
	for (const { index, isCopy, changes, blocks, billed, model, ttl } of session.steps()) {
		if (isCopy) continue;
		const end = blocks.findIndex(({ part }) => part === "messages");
		search.add({
			request: index + 1,
			tokens: promptSize(billed),
			head: tokensOf(blocks.slice(0, Math.max(0, end))),
			rules: model.rules,
			prices: model.prices,
			ttl,
			startsOver: changes.has("compaction") || changes.has("branch"),
		});
	}
	return search.best();
}
