import type { Prompt } from "./assemble.ts";
import { fileOfSymbol, type TrackedItem } from "./item.ts";
import type { PromptItem } from "./tier-text.ts";
import type { CachedTier, Tier } from "./tiers.ts";

/**
 * Sends each piece of content where its tracking says, ready for `assemble`. History keeps the order given; files and
 * symbols stand in the order in which they were first seen. The symbol entry of a file that is there in full is left
 * out, and what is not tracked is active.
 */
export function placeByTier(
	items: ReadonlyMap<string, TrackedItem>,
	contents: Iterable<PromptItem>,
): Pick<Prompt, "tiers" | "activeFiles" | "activeHistory"> {
	const given = [...contents];
	const files = new Set(given.filter(({ kind }) => kind === "file").map(({ key }) => key));
	const seen = new Map(Array.from(items.keys(), (key, index) => [key, index]));
	const placed = Map.groupBy(
		given
			.filter(({ key, kind }) => kind !== "symbol" || !files.has(fileOfSymbol(key) ?? key))
			.map((item) => ({ ...item, entered: seen.get(item.key) ?? seen.size })),
		({ key }) => items.get(key)?.tier ?? "active",
	);
	const at = (tier: Tier) => placed.get(tier) ?? [];
	const tiers: Record<CachedTier, PromptItem[]> = {
		L0: at("L0"),
		L1: at("L1"),
		L2: at("L2"),
		L3: at("L3"),
	};
	return {
		tiers,
		activeFiles: at("active").filter(({ kind }) => kind !== "history"),
		activeHistory: at("active").filter(({ kind }) => kind === "history"),
	};
}
