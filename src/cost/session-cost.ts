import type { PromptTokens } from "../core/bill.ts";
import { CostAccount, type PricedMiss } from "../economy/index.ts";
import { type CacheRules, costOf, dollarsOf, type ModelInfo } from "../economy/rules.ts";
import type { Data } from "../protocol/index.ts";
import { addPrices, costTurns, requestPlaces, sumIfAllKnown } from "./cost-turns.ts";
import { billIn, type Entries, editsIn, type SessionEntry } from "./entries.ts";
import {
	type RemovedBySystem,
	type RemovedTokens,
	removedBy,
	removedTokens,
	SAVING_SYSTEMS,
	type SavingSystem,
} from "./removed-text.ts";

interface CostSource {
	/** Entries of all branches, since all were paid for. */
	readonly entries: readonly SessionEntry[];
	/** The current branch: only its requests have known content. */
	readonly branch: readonly SessionEntry[];
	findModel(provider: string, id: string): ModelInfo | undefined;
	/** Prompt size in tokens above which pi compacts. */
	compactsAbove?(provider: string, id: string): number | undefined;
	/** Maximum requests in the answer (the latest ones). The totals cover all. */
	readonly mostRequests?: number;
}

const MAX_REQUESTS = 500;

/** The cost of each request: actual, without our systems, and without a cache. */
export function costView({
	entries,
	branch,
	findModel,
	compactsAbove,
	mostRequests = MAX_REQUESTS,
}: CostSource): Data<"Cost"> {
	const account = new CostAccount();
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const removedAt = removedTokens(branch);
	const continues = createLineage(entries, byId);
	const requests: Data<"CostRequest">[] = [];
	// `compacted`, `pruned`, `removed` tokens: since the last request.
	let compacted = false;
	let pruned = false;
	let removed = 0;
	/** Tokens that pruning has taken out of results, by their ids: an edit is recorded, and stored later. */
	const stubs = new Map<string, { id: string; tokens: number }>();
	let usedMs: number | undefined;
	let lastId: string | undefined;
	let overLimit = 0;
	for (const entry of entries) {
		if (entry.type === "compaction") compacted = true;
		for (const edit of editsIn(entry)) {
			const { targetId } = edit;
			const stub = removedBy(edit, byId);
			const last = stubs.get(targetId);
			// One of another branch says nothing about this one.
			const before = last && continues(entry, last.id) ? last.tokens : undefined;
			// Not every edit is pruning: the working set edits entries too. What follows a stub restores its text.
			if (stub?.system !== "pruning" && before === undefined) continue;
			if (stub && before === stub.tokens) continue; // recorded before
			pruned = true;
			removed += Math.max(0, (stub?.tokens ?? 0) - (before ?? 0));
			if (stub) stubs.set(targetId, { id: entry.id, tokens: stub.tokens });
			else stubs.delete(targetId);
		}
		if (entry.type === "usage") usedMs = Date.parse(entry.timestamp) || usedMs || 0; // a warming ping
		const bill = billIn(entry);
		if (!bill) continue;
		const { provider, model: id, atMs, tokens, output, thinking } = bill;
		const name = `${provider}/${id}`;
		const model = findModel(provider, id) ?? { provider, id };
		const answered = {
			atMs,
			gapMs: Math.max(0, atMs - (usedMs ?? atMs)),
			model: name,
			tokens,
			compacted,
			pruned,
			removedTokens: removed,
			branched: lastId !== undefined && !continues(entry, lastId),
			...(thinking && { misplaced: thinking }),
		};
		const miss = account.add(answered, model);
		const rules = account.rulesOf(model);
		compacted = false;
		pruned = false;
		removed = 0;
		usedMs = atMs;
		lastId = entry.id;
		const { appendOnly, saved } = withoutSystems(tokens, removedAt.get(entry.id), miss, (some) =>
			priceOf(some, model, rules),
		);
		const limit = compactsAbove?.(provider, id) ?? Number.POSITIVE_INFINITY;
		if (promptOf(appendOnly) > limit) overLimit++;
		const dollars = model.cost?.input ? dollarsOf({ ...NOTHING, output }, model.cost) : undefined;
		requests.push({
			atMs,
			model: name,
			read: tokens.read,
			write: tokens.write,
			input: tokens.input,
			output,
			cost: priceOf(tokens, model, rules),
			appendOnlyCost: priceOf(appendOnly, model, rules),
			noCacheCost: priceOf({ ...NOTHING, input: promptOf(tokens) }, model, rules),
			...(dollars !== undefined && { outputDollars: dollars }),
			...(thinking && thinking.dropped > 0 && { thinkingDropped: thinking.dropped }),
			...(miss && { miss: missView(miss) }),
			...(saved && { saved }),
		});
	}
	const totals = totalsOf(requests);
	if (overLimit > 0) totals.appendOnlyOverLimit = overLimit;
	const turns = costTurns(requests, requestPlaces(entries));
	return { requests: requests.slice(-mostRequests), turns, totals };
}

const NOTHING: PromptTokens = { input: 0, read: 0, write: 0, writeOneHour: 0 };

function createLineage(entries: readonly SessionEntry[], byId: Entries) {
	const order = new Map(entries.map(({ id }, index) => [id, index]));
	return (entry: SessionEntry, earlierId: string): boolean => {
		const least = order.get(earlierId) ?? 0;
		let at: string | null | undefined = entry.id;
		while (at && (order.get(at) ?? -1) > least) at = byId.get(at)?.parentId;
		return at === earlierId;
	};
}

/**
 * Estimates the bill without our systems: with the removed text, without cache rewrites by pruning.
 * `saved`: what each system saved, which adds up to the difference; absent if none did anything.
 */
function withoutSystems(
	billed: PromptTokens,
	removed: RemovedBySystem | undefined,
	miss: PricedMiss | undefined,
	price: (tokens: PromptTokens) => Data<"Price">,
): { appendOnly: PromptTokens; saved?: Data<"SavedBySystem"> } {
	let now = billed;
	const saved: Partial<Record<SavingSystem, Data<"Price">>> = {};
	for (const system of SAVING_SYSTEMS) {
		const isRewritten = system === "pruning" && miss?.cause === "pruning";
		const text = removed?.get(system);
		if (!isRewritten && !text) continue;
		const before = price(now);
		if (isRewritten) now = withoutRewrite(now, miss.tokens);
		if (text) now = withText(now, text, billed);
		saved[system] = difference(price(now), before);
	}
	return { appendOnly: now, ...(now !== billed && { saved }) };
}

function withoutRewrite(tokens: PromptTokens, missed: number): PromptTokens {
	const rewritten = Math.min(missed, tokens.write);
	const write = tokens.write - rewritten;
	const writeOneHour = Math.min(tokens.writeOneHour, write);
	return { input: tokens.input, read: tokens.read + rewritten, write, writeOneHour };
}

/** Text of earlier requests is read from the cache if the request reads from it at all. */
function withText(
	tokens: PromptTokens,
	{ fresh, standing }: RemovedTokens,
	billed: PromptTokens,
): PromptTokens {
	let { input, read, write } = tokens;
	if (read > 0) read += standing;
	else if (write > 0) write += standing;
	else input += standing;
	if (billed.write > 0) write += fresh;
	else input += fresh;
	return { ...tokens, input, read, write };
}

function difference(one: Data<"Price">, other: Data<"Price">): Data<"Price"> {
	const tokens = one.tokens - other.tokens;
	if (one.dollars === undefined || other.dollars === undefined) return { tokens };
	return { tokens, dollars: one.dollars - other.dollars };
}

function priceOf(tokens: PromptTokens, model: ModelInfo, rules: CacheRules): Data<"Price"> {
	const cost = costOf(tokens, rules);
	if (!model.cost?.input) return { tokens: cost };
	return { tokens: cost, dollars: dollarsOf(tokens, model.cost, rules) };
}

function missView({ tokens, cause, cost, dollars, changed }: PricedMiss): Data<"CacheMiss"> {
	return {
		tokens,
		cause,
		cost: { tokens: cost, ...(dollars !== undefined && { dollars }) },
		...(changed !== undefined && { changed }),
	};
}

function totalsOf(requests: readonly Data<"CostRequest">[]): Data<"Cost">["totals"] {
	const sum = (pick: (request: Data<"CostRequest">) => number) =>
		requests.reduce((total, request) => total + pick(request), 0);
	const missed = requests.flatMap(({ miss }) => miss ?? []);
	const outputDollars = sumIfAllKnown(requests.map((request) => request.outputDollars));
	return {
		requests: requests.length,
		read: sum(({ read }) => read),
		write: sum(({ write }) => write),
		input: sum(({ input }) => input),
		output: sum(({ output }) => output),
		cost: addPrices(requests.map(({ cost }) => cost)),
		appendOnlyCost: addPrices(requests.map(({ appendOnlyCost }) => appendOnlyCost)),
		noCacheCost: addPrices(requests.map(({ noCacheCost }) => noCacheCost)),
		...(outputDollars !== undefined && { outputDollars }),
		misses: missed.length,
		missedTokens: missed.reduce((total, { tokens }) => total + tokens, 0),
		missCost: addPrices(missed.map(({ cost }) => cost)),
		saved: savedIn(requests),
	};
}

function savedIn(requests: readonly Data<"CostRequest">[]): Data<"SavedBySystem"> {
	const all = SAVING_SYSTEMS.flatMap((system) => {
		const own = requests.flatMap(({ saved }) => saved?.[system] ?? []);
		return own.length > 0 ? [[system, addPrices(own)]] : [];
	});
	return Object.fromEntries(all);
}

function promptOf({ input, read, write }: PromptTokens): number {
	return input + read + write;
}
