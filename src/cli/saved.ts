import { agentFolder } from "../core/places.ts";
import { counted, money } from "../text/figures.ts";
import { dayOf, SavedBook, type SavedSums } from "../usage/saved-book.ts";

/** What pi-strata saved in pi; `undefined` if nothing was counted, or the book cannot be read. */
export async function savedSince(sinceMs: number | undefined, env: NodeJS.ProcessEnv) {
	const book = await SavedBook.openIfThere(agentFolder(env));
	if (!book || typeof book === "string") return undefined;
	try {
		const { requests, saved } = book.sums(sinceMs === undefined ? "" : dayOf(sinceMs));
		return requests > 0 ? { requests, bySystem: saved } : undefined;
	} finally {
		book.close();
	}
}

/** What pi-strata saved in pi, in one line. */
export function savedText(saved: { requests: number; bySystem: SavedSums }): string[] {
	const parts = Object.entries(saved.bySystem)
		.sort(([, a], [, b]) => b.dollars - a.dollars)
		.map(([system, { dollars }]) => `${SAVING_NAMES[system] ?? system} ${money(dollars)}`);
	const total = Object.values(saved.bySystem).reduce((sum, { dollars }) => sum + dollars, 0);
	const amount = total < 0 ? `${money(-total)} lost` : money(total);
	const requests = counted(saved.requests, "request");
	const by = parts.length > 0 ? ` (${parts.join(", ")})` : "";
	return [`Saved by pi-strata in ${requests} of pi, compared with pi alone: about ${amount}${by}`];
}

/** Systems of pi-strata by their names in the book. */
const SAVING_NAMES: Readonly<Record<string, string>> = {
	readCache: "read cache",
	birth: "shorter new results",
	pruning: "pruning",
};
