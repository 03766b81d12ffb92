import type { TrackedItem } from "./item.ts";
import { CACHED_TIERS, TIERS } from "./tiers.ts";

/** An item as the tracker may change it. */
export type MutableItem = { -readonly [Field in keyof TrackedItem]: TrackedItem[Field] };

/**
 * Lets items enter L3 and carries on what follows from it, once and from the bottom up: the veterans of an entered tier
 * age, those that reach its promotion N enter the next tier, and a tier that nothing enters ends it. `items` are all
 * tracked items in the order in which they were first seen, the entrants among them.
 */
export function ripple(
	items: Iterable<MutableItem>,
	entrants: readonly MutableItem[],
	targetTokens: number,
): void {
	if (entrants.length === 0) return;
	const veterans = Map.groupBy(items, ({ tier }) => tier);
	let entering = entrants;
	for (const tier of CACHED_TIERS.toReversed()) {
		const { entryN, promotionN } = TIERS[tier];
		for (const item of entering) Object.assign(item, { tier, n: entryN });

		const aging = pastThreshold(veterans.get(tier) ?? [], sumOfTokens(entering), targetTokens);
		for (const item of aging) item.n++;
		entering = aging.filter(({ n }) => n >= promotionN);
		if (entering.length === 0) return;
	}
}

/**
 * The veterans that age: those behind the ones that fill the block to its target together with the entrants. Filling
 * starts with the lowest N, in the order given where N is equal; one that is reached below the target anchors the tier,
 * however far it goes beyond.
 */
function pastThreshold(
	veterans: readonly MutableItem[],
	entrantTokens: number,
	targetTokens: number,
): MutableItem[] {
	let filled = entrantTokens;
	return veterans
		.toSorted((a, b) => a.n - b.n)
		.filter(({ tokens }) => {
			if (filled >= targetTokens) return true;
			filled += tokens;
			return false;
		});
}

function sumOfTokens(items: readonly TrackedItem[]): number {
	return items.reduce((sum, { tokens }) => sum + tokens, 0);
}
