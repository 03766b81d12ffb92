import { counted, grouped } from "../../core/figures.ts";
import type { AccountSummary, CostlyMiss } from "./account.ts";
import type { MissCause } from "./miss.ts";

/** What `/strata cost` prints. */
export function accountText(summary: AccountSummary): string {
	const { requests, tokens, cost, uncached, withoutMisses, misses } = summary;
	if (requests === 0) return "No request of this session has been billed yet.";
	const prompt = tokens.input + tokens.read + tokens.write;
	const share = (part: number) => `${Math.round((100 * part) / prompt)} %`;
	return [
		`${counted(requests, "request")}, ${grouped(prompt)} prompt tokens: ${share(tokens.read)} read from the cache, ${share(tokens.write)} written to it, ${share(tokens.input)} plain`,
		`cost, in plain input tokens: ${grouped(cost)}; without any cache ${grouped(uncached)} (${ratio(cost, uncached)} of it)`,
		misses.length === 0
			? "no request missed what was cached"
			: `misses: ${misses.length}; without them ${grouped(withoutMisses)}, so this session cost ${ratio(cost, withoutMisses)}× what it had to`,
		...misses.slice(-SHOWN).map((miss) => `  ${clock(miss.atMs)}  ${missText(miss)}`),
		...(misses.length > SHOWN ? [`  (the latest ${SHOWN})`] : []),
	].join("\n");
}

/** One miss in a line: `48,200 cached tokens were paid for again ($0.27): the tools changed, first tool kota_search`. */
export function missText({ tokens, dollars, cause, changed }: CostlyMiss): string {
	const price = dollars === undefined ? "" : ` ($${dollars.toFixed(dollars < 0.1 ? 3 : 2)})`;
	const first = changed ? `, first ${changed}` : "";
	return `${grouped(tokens)} cached tokens were paid for again${price}: ${CAUSES[cause]}${first}`;
}

/** How many misses are listed. */
const SHOWN = 15;

const CAUSES: Record<MissCause, string> = {
	compaction: "the conversation was compacted",
	pruning: "old tool output was pruned, which pays over time",
	model: "the model changed",
	thinking: "the thinking level changed",
	expired: "the pause was longer than the cache lives",
	tools: "the tools changed",
	system: "the system prompt changed",
	branch: "another branch of the session",
	messages: "an earlier message changed",
	provider: "nothing changed on our side, the provider no longer had it",
	unknown: "before pi-strata was watching",
};

function ratio(cost: number, of: number): string {
	return of > 0 ? (cost / of).toFixed(2) : "1.00";
}

function clock(atMs: number): string {
	const date = new Date(atMs);
	return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(11, 19);
}
