import { type PromptTokens, type Ttl, ttlOf } from "../../core/bill.ts";
import type { CacheRules } from "../rules.ts";
import { WriteBills } from "../write-bills.ts";
import type { Entry, ModelName } from "./entry.ts";

export interface BilledRequest {
	/** Index of the request's last entry; -1 if it has none. */
	readonly leaf: number;
	readonly atMs: number;
	readonly model: ModelName;
	readonly billed: PromptTokens;
	readonly ttl: Ttl;
	/** Counted elsewhere: it fills the cache, and counts in no sum. */
	readonly isCopy?: true;
	/** The provider's own cause of a cache miss. */
	readonly missReason?: string;
}

/**
 * Billed requests: answers, and pings that repeat the previous request to keep a cache warm. A
 * request whose id is in `seen` is a copy.
 */
export function* billedRequests(
	entries: readonly Entry[],
	seen = new Set<string>(),
): Generator<BilledRequest> {
	let leaf = -1;
	let atMs = 0;
	let ttl: Ttl = "5m";
	for (const entry of entries) {
		const bill = billOf(entry);
		if (!bill || promptSize(bill.billed) === 0) continue;
		const { billed, model } = bill;
		// A request without writes does not show its TTL, so it inherits the previous one.
		ttl = ttlOf(billed) ?? ttl;
		if (entry.type === "assistant") leaf = entry.parent;
		atMs = Math.max(atMs, bill.atMs); // clocks go back, requests do not
		const missReason = entry.type === "assistant" ? entry.missReason : undefined;
		yield {
			...{ leaf, atMs, model, billed, ttl },
			...(isCopy(entry, seen) && { isCopy: true }),
			...(missReason && { missReason }),
		};
	}
}

export function writeBillsOf(entries: readonly Entry[]): WriteBills {
	const writes = new WriteBills();
	for (const { model, billed } of billedRequests(entries)) writes.add(model, billed);
	return writes;
}

export function promptSize({ input, read, write }: Omit<PromptTokens, "writeOneHour">): number {
	return input + read + write;
}

export function withoutUnpricedWrites(
	{ maxBreakpoints, writeRatio }: Pick<CacheRules, "maxBreakpoints" | "writeRatio">,
	billed: PromptTokens,
): PromptTokens {
	if (maxBreakpoints > 0 || writeRatio !== 1) return billed;
	return { input: billed.input + billed.write, read: billed.read, write: 0, writeOneHour: 0 };
}

/** Adds the request to `seen`. */
function isCopy(entry: Entry, seen: Set<string>): boolean {
	if (entry.type !== "assistant" && entry.type !== "warming") return false;
	const { requestId } = entry;
	if ("isCopy" in entry || requestId === undefined) return "isCopy" in entry;
	const isSeen = seen.has(requestId);
	seen.add(requestId);
	return isSeen;
}

function billOf(entry: Entry): Pick<BilledRequest, "atMs" | "model" | "billed"> | undefined {
	if (entry.type === "warming") return entry;
	return entry.type === "assistant" ? { ...entry, atMs: entry.sentMs } : undefined;
}
