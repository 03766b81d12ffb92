import type { TrackedItem } from "../../src/tiers/index.ts";
import type { Item } from "../../src/tiers/item.ts";

/** An item of a request; the hash stands for its version. */
export function item(key: string, tokens = 100, hash = "v1"): Item {
	return { key, hash, tokens };
}

/** Items that differ in their keys only. */
export function items(...keys: string[]): Item[] {
	return keys.map((key) => item(key));
}

/** Where everything stands, as `tier N` by key. */
export function standings(tracked: { items(): Map<string, TrackedItem> }): Record<string, string> {
	return Object.fromEntries(
		Array.from(tracked.items(), ([key, { tier, n }]) => [key, `${tier} ${n}`]),
	);
}

/** Does something several times. */
export function times(count: number, action: (index: number) => void): void {
	for (let index = 0; index < count; index++) action(index);
}
