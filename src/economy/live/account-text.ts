import { counted, grouped } from "../../text/figures.ts";
import { MISS_CAUSES } from "../miss-causes.ts";
import type { AccountSummary, CostlyMiss } from "./account.ts";

export function accountText(summary: AccountSummary): string {
	const { requests, tokens, cost, uncached, withoutMisses, misses, misplaced } = summary;
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
		...misplacedLines(misplaced),
	].join("\n");
}

/** One line: `48,200 cached tokens were paid for again ($0.27): the tools changed, …`. */
export function missText({ tokens, dollars, cause, changed }: CostlyMiss): string {
	const price = dollars === undefined ? "" : ` ($${dollars.toFixed(dollars < 0.1 ? 3 : 2)})`;
	const first = changed ? `, first ${changed}` : "";
	return `${grouped(tokens)} cached tokens were paid for again${price}: ${MISS_CAUSES[cause]}${first}`;
}

function misplacedLines({ dropped, allowed, latestBlocks }: AccountSummary["misplaced"]): string[] {
	const why = "because what stands before them is not what was sent when they were made";
	return [
		...(dropped > 0
			? [
					`thinking: the provider dropped blocks of earlier answers in ${counted(dropped, "request")} (${latestBlocks} in the latest), ${why}`,
				]
			: []),
		...(allowed > 0
			? [
					`thinking: the provider let blocks of earlier answers pass in ${counted(allowed, "request")}, though ${why.slice("because ".length)}`,
				]
			: []),
	];
}

const SHOWN = 15;

function ratio(cost: number, of: number): string {
	return of > 0 ? (cost / of).toFixed(2) : "1.00";
}

function clock(atMs: number): string {
	const date = new Date(atMs);
	return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(11, 19);
}
