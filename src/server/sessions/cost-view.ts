import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { type Bill, billOf, type PromptTokens } from "../../core/bill.ts";
import { countIn, property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { CostAccount, type PricedMiss } from "../../economy/index.ts";
import { type CacheRules, costOf, dollarsOf, type ModelInfo } from "../../economy/rules.ts";
import type { Data } from "../../protocol/index.ts";
import { isStub } from "../../pruning/index.ts";
import { shortenedOf, textOf } from "../../session/index.ts";

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
	// `compacted`, `pruned`: since the last request.
	let compacted = false;
	let pruned = false;
	let usedMs: number | undefined;
	let lastId: string | undefined;
	let overLimit = 0;
	for (const entry of entries) {
		if (entry.type === "compaction") compacted = true;
		// Not every edit is pruning: the working set edits entries too.
		const isEdit = entry.type === "context_edit";
		if (isEdit && removedBy(entry, byId)?.system === "pruning") pruned = true;
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
			branched: lastId !== undefined && !continues(entry, lastId),
			...(thinking && { misplaced: thinking }),
		};
		const miss = account.add(answered, model);
		const rules = account.rulesOf(model);
		compacted = false;
		pruned = false;
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
	return { requests: requests.slice(-mostRequests), totals };
}

const NOTHING: PromptTokens = { input: 0, read: 0, write: 0, writeOneHour: 0 };

type Entries = ReadonlyMap<string, SessionEntry>;

function createLineage(entries: readonly SessionEntry[], byId: Entries) {
	const order = new Map(entries.map(({ id }, index) => [id, index]));
	return (entry: SessionEntry, earlierId: string): boolean => {
		const least = order.get(earlierId) ?? 0;
		let at: string | null | undefined = entry.id;
		while (at && (order.get(at) ?? -1) > least) at = byId.get(at)?.parentId;
		return at === earlierId;
	};
}

function billIn(entry: SessionEntry): Bill | undefined {
	if (entry.type !== "message") return undefined;
	return billOf(entry.message, Date.parse(entry.timestamp) || 0);
}

/** The systems that keep text out of prompts, in the order in which their savings are counted. */
export const SAVING_SYSTEMS = ["pruning", "readCache", "birth"] as const;
export type SavingSystem = (typeof SAVING_SYSTEMS)[number];

/** `fresh`: removed text that would be new in this request. `standing`: removed text of earlier requests. */
interface RemovedTokens {
	readonly fresh: number;
	readonly standing: number;
}

type RemovedBySystem = ReadonlyMap<SavingSystem, RemovedTokens>;

/** Removed tokens of each request, keyed by the id of its answer's entry. */
function removedTokens(branch: readonly SessionEntry[]): Map<string, RemovedBySystem> {
	const found = new Map<string, RemovedBySystem>();
	const removed = new RemovedText(branch);
	for (const entry of branch) {
		removed.add(entry);
		if (!billIn(entry)) continue;
		const now = removed.take();
		if (now.size > 0) found.set(entry.id, now);
	}
	return found;
}

/** Tokens that our systems keep out of the next request of a branch. */
export function removedFromNext(branch: readonly SessionEntry[]): number {
	const removed = new RemovedText(branch);
	for (const entry of branch) removed.add(entry);
	const all = [...removed.take().values()];
	return all.reduce((sum, { fresh, standing }) => sum + fresh + standing, 0);
}

/** The text that is not in the context because of our systems, entry by entry. */
class RemovedText {
	readonly #byId: Entries;
	readonly #order: ReadonlyMap<string, number>;
	/** One for each system and entry: what is pruned may have been short before. */
	#standing = new Map<string, { id: string; system: SavingSystem; tokens: number }>();
	#fresh = new Map<SavingSystem, number>();

	constructor(branch: readonly SessionEntry[]) {
		this.#byId = new Map(branch.map((entry) => [entry.id, entry]));
		this.#order = new Map(branch.map((entry, index) => [entry.id, index]));
	}

	add(entry: SessionEntry): void {
		const isEdit = entry.type === "context_edit";
		const id = isEdit ? entry.targetId : entry.id;
		const removed = removedBy(entry, this.#byId);
		if (isEdit && !removed) this.#standing.delete(keyOf("birth", id)); // its lines may be back
		if (removed) {
			const { system, tokens } = removed;
			this.#standing.set(keyOf(system, id), { id, system, tokens });
			// A pruned result was sent before. A marker replaces text that would be new.
			if (!isEdit) this.#fresh.set(system, (this.#fresh.get(system) ?? 0) + tokens);
		}
		if (entry.type !== "compaction") return;
		const from = this.#order.get(entry.firstKeptEntryId ?? "") ?? Number.POSITIVE_INFINITY;
		const kept = [...this.#standing].filter(([, { id }]) => (this.#order.get(id) ?? -1) >= from);
		this.#standing = new Map(kept);
		this.#fresh.clear();
	}

	/** For the request that is sent now. */
	take(): RemovedBySystem {
		const found = new Map<SavingSystem, RemovedTokens>();
		for (const [system, own] of Map.groupBy(this.#standing.values(), ({ system }) => system)) {
			const all = own.reduce((sum, { tokens }) => sum + tokens, 0);
			const fresh = Math.min(this.#fresh.get(system) ?? 0, all);
			if (all > 0) found.set(system, { fresh, standing: all - fresh });
		}
		this.#fresh.clear();
		return found;
	}
}

function keyOf(system: SavingSystem, id: string): string {
	return `${system} ${id}`;
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

function addPrices(prices: readonly Data<"Price">[]): Data<"Price"> {
	const dollars = sumIfAllKnown(prices.map((price) => price.dollars));
	const tokens = prices.reduce((total, price) => total + price.tokens, 0);
	return { tokens, ...(dollars !== undefined && { dollars }) };
}

function sumIfAllKnown(values: readonly (number | undefined)[]): number | undefined {
	const known = values.filter((value) => value !== undefined);
	if (values.length === 0 || known.length < values.length) return undefined;
	return known.reduce((total, value) => total + value, 0);
}

function promptOf({ input, read, write }: PromptTokens): number {
	return input + read + write;
}

/** Tokens that the read cache, savings at birth or pruning kept out of the context. */
export function removedBy(entry: SessionEntry, byId: Entries) {
	if (entry.type === "context_edit") return removedByStub(entry, byId.get(entry.targetId));
	if (entry.type !== "message" || entry.message.role !== "toolResult") return undefined;
	const { details, content } = entry.message;
	const short = property(details, "birth") === undefined ? undefined : shortenedOf({ details });
	if (short) {
		const label = `result of ${entry.message.toolName}`;
		return { system: "birth" as const, label, tokens: estimateTokens(short.savedChars) };
	}
	const note = property(details, "readcache");
	const label = LABELS_BY_MODE.get(String(property(note, "mode")));
	const plainBytes = countIn(note, "plainBytes");
	const shown = textOf(content);
	if (!label || plainBytes === 0 || shown === undefined) return undefined;
	const bytes = Math.max(0, plainBytes - Buffer.byteLength(shown));
	return { system: "readCache" as const, label, tokens: estimateTokens(bytes) };
}

const LABELS_BY_MODE: ReadonlyMap<string, string> = new Map([
	["unchanged", "unchanged file"],
	["unchanged_range", "unchanged lines"],
	["diff", "diff"],
]);

function removedByStub(
	edit: SessionEntry & { type: "context_edit" },
	target: SessionEntry | undefined,
) {
	const stub = textOf(edit.replacement?.content);
	if (!stub || !isStub(stub)) return undefined;
	if (target?.type !== "message" || target.message.role !== "toolResult") return undefined;
	const before = textOf(target.message.content);
	if (before === undefined) return undefined;
	return {
		system: "pruning" as const,
		label: `result of ${target.message.toolName}`,
		tokens: estimateTokens(Math.max(0, before.length - stub.length)),
	};
}
