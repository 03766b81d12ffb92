import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { Savings, SystemSavings } from "../../protocol/index.ts";
import { type Removed, removedBy } from "./removed.ts";

type System = Exclude<keyof Savings, "total">;

/** What our systems saved in a session, as its entries tell; on all its branches, since all of them were paid for. */
export function savingsView(
	entries: readonly SessionEntry[],
	enabled: Readonly<Record<System, boolean>>,
): Savings {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const removed = entries.flatMap((entry) => removedBy(entry, (id) => byId.get(id)) ?? []);
	const of = (system: System) =>
		summed(
			enabled[system],
			removed.filter((one) => one.system === system),
		);
	return {
		readCache: of("readCache"),
		paging: of("paging"),
		kota: of("kota"),
		pruning: of("pruning"),
		tiers: of("tiers"),
		economy: of("economy"),
		total: { tokens: removed.reduce((sum, { tokens }) => sum + tokens, 0) },
	};
}

/** Reasons beyond these are few and small. */
const MAX_DETAILS = 10;

function summed(enabled: boolean, removed: readonly Removed[]): SystemSavings {
	const byLabel = new Map<string, { label: string; times: number; tokens: number }>();
	for (const { label, tokens } of removed) {
		const detail = byLabel.get(label) ?? { label, times: 0, tokens: 0 };
		byLabel.set(label, detail);
		detail.times++;
		detail.tokens += tokens;
	}
	const details = [...byLabel.values()].sort((a, b) => b.tokens - a.tokens).slice(0, MAX_DETAILS);
	const tokens = removed.reduce((sum, one) => sum + one.tokens, 0);
	return { enabled, times: removed.length, tokens, details };
}
