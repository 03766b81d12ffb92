import { isDemoModel } from "../core/demo-model.ts";
import {
	costView,
	type RequestPlace,
	removedBy,
	removedFromNext,
	requestPlaces,
	type SavingSystem,
} from "../cost/index.ts";
import type { Data } from "../protocol/index.ts";
import type { SessionView } from "../session/index.ts";
import { dayOf, type SavedRow } from "../usage/saved-book.ts";

/** What a session cost and saved, as the server's views count it. */
export interface SessionAccount {
	readonly totals: Data<"Cost">["totals"];
	/** Of all branches, oldest first. */
	readonly requests: readonly AccountRequest[];
	/** Text that systems kept out of the context, once for each result. */
	readonly removed: readonly RemovedText[];
	/** Tokens that the next request lacks because of our systems. */
	readonly outOfView: number;
	readonly isDemo: boolean;
}

export interface AccountRequest extends Data<"CostRequest">, RequestPlace {
	/** Of prompt and answer; absent without a price. */
	readonly dollars?: number;
}

interface RemovedText {
	readonly entryId: string;
	readonly atMs: number;
	readonly system: SavingSystem;
	readonly tokens: number;
}

/** Pi's default: it compacts when fewer tokens are left. */
const RESERVE_TOKENS = 16_384;

export function sessionAccount(session: SessionView): SessionAccount {
	const { sessionManager, model: current, modelRegistry } = session;
	const entries = sessionManager.getEntries();
	const branch = sessionManager.getBranch();
	const findModel = (provider: string, id: string) =>
		current?.provider === provider && current.id === id
			? current
			: modelRegistry.find(provider, id);
	const { requests, totals } = costView({
		entries,
		branch,
		findModel,
		compactsAbove(provider, id) {
			const size = findModel(provider, id)?.contextWindow;
			return size && size - RESERVE_TOKENS;
		},
		mostRequests: Number.POSITIVE_INFINITY,
	});
	const places = requestPlaces(entries);
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const removed = entries.flatMap((entry) => {
		const found = removedBy(entry, byId);
		const atMs = Date.parse(entry.timestamp) || 0;
		return found ? [{ entryId: entry.id, atMs, ...found }] : [];
	});
	return {
		totals,
		requests: requests.map((request, at) => ({
			...request,
			...(places[at] as RequestPlace),
			...dollarsOf(request),
		})),
		removed,
		outOfView: removedFromNext(branch),
		isDemo: requests.some(({ model }) => isDemoModel(model)),
	};
}

/** Tokens that the next request lacks because of our systems. */
export function outOfView({ sessionManager }: SessionView): number {
	return removedFromNext(sessionManager.getBranch());
}

function dollarsOf({ cost, outputDollars }: Data<"CostRequest">): { dollars?: number } {
	if (cost.dollars === undefined) return {};
	return { dollars: cost.dollars + (outputDollars ?? 0) };
}

/** Rows of the book for what is new since `known`: a set of ids of entries. Demo prices are made up, so they do not count. */
export function newRows(
	{ requests, removed }: SessionAccount,
	known: ReadonlySet<string>,
	project: string,
): SavedRow[] {
	const rows: SavedRow[] = [];
	let model = requests.at(-1)?.model ?? "";
	for (const request of requests) {
		if (known.has(request.entryId)) continue;
		model = request.model;
		if (isDemoModel(model)) continue;
		const saved = Object.entries(request.saved ?? {}).map(([system, price]) => [
			system,
			{ tokens: 0, dollars: price.dollars ?? 0 },
		]);
		rows.push({
			day: dayOf(request.atMs),
			project,
			model,
			requests: 1,
			dollars: request.dollars ?? 0,
			unpriced: request.dollars === undefined ? 1 : 0,
			saved: Object.fromEntries(saved),
		});
	}
	if (isDemoModel(model)) return rows;
	for (const { entryId, atMs, system, tokens } of removed) {
		if (known.has(entryId)) continue;
		const nothing = { requests: 0, dollars: 0, unpriced: 0 };
		const saved = { [system]: { tokens, dollars: 0 } };
		rows.push({ day: dayOf(atMs), project, model, ...nothing, saved });
	}
	return rows;
}

/** The session in the form of the book. */
export function sessionSums({ requests, removed }: SessionAccount): BookSums {
	const saved: Record<string, { tokens: number; dollars: number }> = {};
	const add = (system: string, tokens: number, dollars: number) => {
		const own = saved[system] ?? { tokens: 0, dollars: 0 };
		saved[system] = { tokens: own.tokens + tokens, dollars: own.dollars + dollars };
	};
	for (const request of requests) {
		for (const [system, price] of Object.entries(request.saved ?? {})) {
			add(system, 0, price.dollars ?? 0);
		}
	}
	for (const { system, tokens } of removed) add(system, tokens, 0);
	return {
		requests: requests.length,
		dollars: requests.reduce((sum, { dollars = 0 }) => sum + dollars, 0),
		unpriced: requests.filter(({ dollars }) => dollars === undefined).length,
		saved,
	};
}

export type BookSums = Omit<SavedRow, "day" | "project" | "model">;
