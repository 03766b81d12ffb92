import { compareText } from "../core/compare-text.ts";
import { fileOfSymbol, type Item } from "./item.ts";
import type { CachedTier } from "./tiers.ts";

/** An item with the number of references to its file, and the hash of its real content. */
export interface Referenced extends Item {
	readonly refs: number;
}

/** What seeding goes by. */
export interface SeedTerms {
	/** Keys that get no tier, and files whose symbol entries get none: what is in active context. */
	readonly exclude: ReadonlySet<string>;
	/** What L1, then L2 are filled to; 0 shares out by number instead. */
	readonly targetTokens: number;
}

/** A tier for each item by its references, the most referenced first. L0 is never given: it must be earned. */
export function seedTiers(
	refs: Iterable<Referenced>,
	{ exclude, targetTokens }: SeedTerms,
): { item: Referenced; tier: CachedTier }[] {
	const ranked = Array.from(refs, checked)
		.filter(({ key }) => !exclude.has(key) && !exclude.has(fileOfSymbol(key) ?? key))
		.sort((a, b) => b.refs - a.refs || compareText(a.key, b.key));
	const tierOf = targetTokens > 0 ? byTokens(targetTokens) : byShare(ranked.length);
	return ranked.map((item, index) => ({ item, tier: tierOf(item, index) }));
}

function checked(item: Referenced): Referenced {
	if (Number.isFinite(item.refs)) return item;
	throw new RangeError(
		`The refs of ${JSON.stringify(item.key)} must be a number, got ${item.refs}`,
	);
}

type TierOf = (item: Referenced, index: number) => CachedTier;

/** L1 until it meets the target, L2 until it does, and L3 takes all the rest. */
function byTokens(targetTokens: number): TierOf {
	const filled = { L1: 0, L2: 0, L3: Number.NEGATIVE_INFINITY };
	return ({ tokens }) => {
		const tier = filled.L1 < targetTokens ? "L1" : filled.L2 < targetTokens ? "L2" : "L3";
		filled[tier] += tokens;
		return tier;
	};
}

/** The top 20 % into L1, the next 30 % into L2, the bottom half into L3. */
function byShare(count: number): TierOf {
	const [endOfL1, endOfL2] = [Math.floor((count * 2) / 10), Math.floor((count * 5) / 10)];
	return (_item, index) => (index < endOfL1 ? "L1" : index < endOfL2 ? "L2" : "L3");
}
