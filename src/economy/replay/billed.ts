import { type PromptTokens, type Ttl, ttlOf } from "../../core/bill.ts";
import type { CacheRules } from "../rules.ts";
import { WriteBills } from "../write-bills.ts";
import type { Entry, ModelName, Rounds } from "./entry.ts";

export interface BilledRequest {
	/** Index of the request's last entry; -1 if it has none. */
	readonly leaf: number;
	readonly atMs: number;
	readonly model: ModelName;
	readonly billed: PromptTokens;
	readonly ttl: Ttl;
	/** Counted elsewhere: it fills the cache, and counts in no sum. */
	readonly isCopy?: true;
	/** If the provider called the model several times; `billed` is the sum. */
	readonly rounds?: Rounds;
	/** Tokens of earlier content that the provider left out of the prompt. */
	readonly cleared?: number;
	/** The provider's own cause of a cache miss. */
	readonly missReason?: string;
	/** A service tier or speed that list prices are not for. */
	readonly tier?: string;
	/** How many blocks follow the last cache marker, if the file says so. */
	readonly behindMarker?: number;
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
		const { missReason, marker, tier, rounds, cleared } = entry.type === "assistant" ? entry : {};
		// A request without writes does not show its TTL, so it inherits the previous one.
		ttl = ttlOf(billed) ?? marker?.ttl ?? ttl;
		if (entry.type === "assistant") leaf = entry.parent;
		atMs = Math.max(atMs, bill.atMs); // clocks go back, requests do not
		yield {
			...{ leaf, atMs, model, billed, ttl },
			...(isCopy(entry, seen) && { isCopy: true }),
			...(rounds && { rounds }),
			...(cleared && { cleared }),
			...(missReason && { missReason }),
			...(tier !== undefined && { tier }),
			...(marker && { behindMarker: marker.behind }),
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

type Billed = Pick<BilledRequest, "billed" | "rounds">;

/** The prompt as it was first given to the model: it reads what an earlier request cached. */
export function firstPrompt({ billed, rounds }: Billed): PromptTokens {
	return rounds?.first ?? billed;
}

/** The prompt that a later request finds in the cache. */
export function lastPrompt({ billed, rounds }: Billed): PromptTokens {
	return rounds?.last ?? billed;
}

/** The tokens of a first prompt, and what was billed for the further ones. */
export function withFurtherRounds(tokens: PromptTokens, { billed, rounds }: Billed): PromptTokens {
	if (!rounds) return tokens;
	const further = (key: keyof PromptTokens) => Math.max(0, billed[key] - rounds.first[key]);
	return {
		input: tokens.input + further("input"),
		read: tokens.read + further("read"),
		write: tokens.write + further("write"),
		writeOneHour: tokens.writeOneHour + further("writeOneHour"),
	};
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
