import type { Savings, SystemSavings } from "../../../protocol/index.ts";
import { short } from "../../parts/figures.ts";

/** What one system did, for a row of the table. */
export interface SavingsRow extends SystemSavings {
	readonly system: SavingsSystem;
	readonly name: string;
	/** What it does, in a few words. */
	readonly does: string;
}

type SavingsSystem = Exclude<keyof Savings, "total">;

/** The systems, those that saved most first and those that are switched off last. */
export function savingsRows(savings: Savings): SavingsRow[] {
	const rows = SYSTEMS.map(([system, name, does]) => ({ ...savings[system], system, name, does }));
	return rows.sort(
		(one, other) =>
			Number(other.enabled) - Number(one.enabled) ||
			other.tokens - one.tokens ||
			other.times - one.times,
	);
}

/** The tokens of a line; a dash where there was something to save that nobody can measure. */
export function savedTokens({
	tokens,
	unmeasured = 0,
}: {
	tokens: number;
	unmeasured?: number;
}): string {
	return tokens === 0 && unmeasured > 0 ? UNMEASURED : short(tokens);
}

/** Stands where a saving cannot be measured. */
export const UNMEASURED = "–";

const SYSTEMS: readonly (readonly [SavingsSystem, string, string])[] = [
	["readCache", "Read cache", "answers repeated reads with what changed"],
	["paging", "Paging", "hands out large texts page by page"],
	["kota", "Code intelligence (kota)", "answers questions about code without reading files"],
	[
		"pruning",
		"Pruning",
		"replaces old output by stubs when that pays, or before pi would have to compact",
	],
	["tiers", "Working set (tiers)", "keeps stable files where the cache finds them"],
	["economy", "Economy", "knows the providers' cache rules and explains each miss"],
];
