/** Where a tracked item stands: in one of four cached tiers, L0 the most stable, or in the uncached active part. */
export type Tier = "L0" | "L1" | "L2" | "L3" | "active";

/** The tiers whose content is sent as a cached block. */
export type CachedTier = Exclude<Tier, "active">;

/** The N that items get when they enter a tier, and the N at which they leave it for the next; L0 is terminal. */
export const TIERS: Readonly<
	Record<Tier, { readonly entryN: number; readonly promotionN: number }>
> = {
	L0: { entryN: 12, promotionN: Number.POSITIVE_INFINITY },
	L1: { entryN: 9, promotionN: 12 },
	L2: { entryN: 6, promotionN: 9 },
	L3: { entryN: 3, promotionN: 6 },
	active: { entryN: 0, promotionN: 3 },
};

/** The cached tiers in the order of the prompt. */
export const CACHED_TIERS: readonly CachedTier[] = ["L0", "L1", "L2", "L3"];

/** Whether an unchanged item of the active part may leave it for L3. */
export function isEligible({ tier, n }: { readonly tier: Tier; readonly n: number }): boolean {
	return tier === "active" && n >= TIERS.active.promotionN;
}

/** The tokens that a cached block should have: `cacheMinTokens × cacheBufferMultiplier`; 0 switches all gating off. */
export function cacheTargetTokens(cacheMinTokens: number, cacheBufferMultiplier: number): number {
	const target = cacheMinTokens * cacheBufferMultiplier;
	// Each by itself: "5" × 1.5 is a number, too.
	const numbers = [cacheMinTokens, cacheBufferMultiplier, target];
	if (!numbers.every((number) => Number.isFinite(number) && number >= 0)) {
		throw new RangeError(
			`cacheMinTokens (${shown(cacheMinTokens)}) and cacheBufferMultiplier (${shown(cacheBufferMultiplier)}) must be numbers ≥ 0`,
		);
	}
	// Of decimals: 100 × 1.1 should be 110 to the last digit, or a block of 110 tokens would not meet it.
	return Number(target.toPrecision(12));
}

function shown(value: unknown): string {
	return typeof value === "number" ? String(value) : JSON.stringify(value);
}
