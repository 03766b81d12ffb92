import type { Data } from "../../protocol/index.ts";
import type { knownUsage } from "../../usage/known-usage.ts";

/** More than a year of five projects with five models each. */
const MAX_ROWS = 10_000;

/** Whole days only, the latest first. */
export function usageView(
	{ rows, unpricedModels, files, failed }: Awaited<ReturnType<typeof knownUsage>>,
	maxRows = MAX_ROWS,
): Data<"UsageReport"> {
	const sent: Data<"UsageRow">[] = [];
	for (const [, own] of [...Map.groupBy(rows, ({ day }) => day)].reverse()) {
		if (sent.length > 0 && sent.length + own.length > maxRows) break;
		sent.push(...own);
	}
	const truncated = sent.length < rows.length;
	return { rows: sent, truncated, files, failed, unpricedModels: [...unpricedModels] };
}
