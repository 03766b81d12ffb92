/** The cost of the layouts on generated sessions, by the exact simulator. */

import { CacheSimulator } from "../../src/economy/index.ts";
import { type CacheRules, costOf, rulesFor } from "../../src/economy/rules.ts";
import { log } from "./log-layout.ts";
import { appendAndReread, fixedOrder, type Layout, noCache } from "./plain-layouts.ts";
import { tiers } from "./tier-layout.ts";
import { generateRequests, type Workload, type WorkRequest } from "./workload.ts";

/** Every layout that is compared, by the name it has in tables. */
export const LAYOUTS = {
	"no cache": noCache,
	"fixed order": fixedOrder,
	"append + re-read": appendAndReread,
	"tiers 1536": tiers(1024),
	"tiers 0": tiers(0),
	log,
} satisfies Record<string, Layout>;

export type LayoutName = keyof typeof LAYOUTS;

/** The rules of a model with these prices: reads at `readRatio`, writes at 1.25. */
export function rulesAt(readRatio: number): CacheRules {
	return rulesFor({ provider: "anthropic", id: "claude-sonnet-5" }, { readRatio });
}

/** The cost of each layout on a workload, relative to no cache: the mean over the seeds. */
export function costsOf(
	workload: Workload,
	{ readRatio, seeds }: { readRatio: number; seeds: number },
): Record<LayoutName, number> {
	const rules = rulesAt(readRatio);
	const sessions = Array.from({ length: seeds }, (_, seed) => generateRequests(workload, seed));
	const shares = Object.entries(LAYOUTS).map(([name, layout]) => [
		name,
		sessions.reduce((sum, session) => sum + costUnder(layout, session, rules) / plain(session), 0) /
			seeds,
	]);
	return Object.fromEntries(shares);

	function plain(session: readonly WorkRequest[]): number {
		return costUnder(noCache, session, rules);
	}
}

/** The cost of a session's requests under a layout, in plain input tokens. */
export function costUnder(
	layout: Layout,
	session: readonly WorkRequest[],
	rules: CacheRules,
): number {
	const cache = new CacheSimulator(rules);
	let cost = 0;
	for (const request of layout(session, rules)) cost += costOf(cache.send(request), rules);
	return cost;
}

/** How `log` compares with the cheapest layout that keeps files fresh; 1 is equal. No cache is not one of them. */
export function logToBest(costs: Record<LayoutName, number>): { ratio: number; best: LayoutName } {
	const { log: own, "no cache": _, ...others } = costs;
	const [best, cost] = Object.entries(others).reduce((least, next) =>
		next[1] < least[1] ? next : least,
	);
	return { ratio: own / cost, best: best as LayoutName };
}
