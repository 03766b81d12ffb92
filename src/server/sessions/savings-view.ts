import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { CacheMiss, Savings, SystemSavings } from "../../protocol/index.ts";
import { removedBy } from "./removed.ts";
import { kotaUses, pagingUses, tiersUses, type Use } from "./uses.ts";

type System = Exclude<keyof Savings, "total">;

export interface SavingsSource {
	/** Of all branches: all of them were paid for. */
	entries: readonly SessionEntry[];
	/** What the cache missed. */
	misses: readonly CacheMiss[];
	enabled: Readonly<Record<System, boolean>>;
}

/** What our systems did and saved in a session, as its entries tell. */
export function savingsView({ entries, misses, enabled }: SavingsSource): Savings {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const removed = entries.flatMap((entry) => removedBy(entry, (id) => byId.get(id)) ?? []);
	const of = (system: System, uses: readonly Use[]) => summed(enabled[system], uses);
	const systems = {
		readCache: of(
			"readCache",
			removed.filter(({ system }) => system === "readCache"),
		),
		paging: of("paging", pagingUses(entries)),
		kota: of("kota", kotaUses(entries)),
		pruning: of(
			"pruning",
			removed.filter(({ system }) => system === "pruning"),
		),
		tiers: of("tiers", tiersUses(entries)),
		economy: of("economy", explained(misses)),
	};
	const tokens = Object.values(systems).reduce((sum, system) => sum + system.tokens, 0);
	return { ...systems, total: { tokens } };
}

/** To know why a cache was missed saves nothing by itself. */
function explained(misses: readonly CacheMiss[]): Use[] {
	return misses.flatMap(({ cause }) =>
		cause === "unknown" ? [] : [{ label: `miss explained: ${cause}` }],
	);
}

/** Reasons beyond these are few and small. */
const MAX_DETAILS = 10;

function summed(enabled: boolean, uses: readonly Use[]): SystemSavings {
	const byLabel = new Map<string, Use[]>();
	for (const use of uses) {
		const own = byLabel.get(use.label);
		if (own) own.push(use);
		else byLabel.set(use.label, [use]);
	}
	const details = [...byLabel]
		.map(([label, own]) => ({ label, ...figuresOf(own) }))
		.sort((a, b) => b.tokens - a.tokens || b.times - a.times)
		.slice(0, MAX_DETAILS);
	return { enabled, ...figuresOf(uses), details };
}

function figuresOf(uses: readonly Use[]) {
	const unmeasured = uses.filter(({ tokens }) => tokens === undefined).length;
	return {
		times: uses.length,
		tokens: uses.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
		...(unmeasured > 0 && { unmeasured }),
	};
}
