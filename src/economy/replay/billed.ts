import { type PromptTokens, type Ttl, ttlOf } from "../../core/bill.ts";
import type { CacheRules } from "../rules.ts";
import { type Entry, fullName, type ModelName } from "./entry.ts";

export interface BilledRequest {
	/** Index of the request's last entry; -1 if it has none. */
	readonly leaf: number;
	readonly atMs: number;
	readonly model: ModelName;
	readonly billed: PromptTokens;
	readonly ttl: Ttl;
}

/** Yields the billed requests: answers, and pings that repeat the previous request to keep a cache warm. */
export function* billedRequests(entries: readonly Entry[]): Generator<BilledRequest> {
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
		atMs = Math.max(atMs, bill.atMs); // a clock may go back, but requests are in order
		yield { leaf, atMs, model, billed, ttl };
	}
}

/** Returns models with cache reads but no billed writes: their writes are billed as plain input. */
export function modelsWithoutWrites(entries: readonly Entry[]): ReadonlySet<string> {
	const read = new Set<string>();
	const written = new Set<string>();
	for (const { model, billed } of billedRequests(entries)) {
		const name = fullName(model);
		if (billed.read > 0) read.add(name);
		if (billed.write > 0) written.add(name);
	}
	return new Set([...read].filter((name) => !written.has(name)));
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

function billOf(entry: Entry): Omit<BilledRequest, "leaf" | "ttl"> | undefined {
	if (entry.type === "warming") return entry;
	return entry.type === "assistant" ? { ...entry, atMs: entry.sentMs } : undefined;
}
