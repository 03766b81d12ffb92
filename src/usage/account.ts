import { isDemoModel } from "../core/demo-model.ts";
import type { AgentName } from "../importers/index.ts";
import type { FileUsage, RequestUsage, UsageTokens } from "./file-usage.ts";
import { dayOf, weekOf } from "./period.ts";
import { type DearReason, type Price, Pricing } from "./pricing.ts";
import { added, NOTHING, type Sums } from "./sums.ts";

/** Requests of one day, agent, project and model. */
export interface UsageRow extends Sums {
	/** In local time: `2026-11-16`. */
	readonly day: string;
	readonly agent: AgentName;
	/** The working folder; empty if unknown. */
	readonly project: string;
	/** `provider/id` */
	readonly model: string;
}

export interface DearRequest {
	readonly atMs: number;
	readonly agent: AgentName;
	readonly project: string;
	readonly model: string;
	readonly isSubagent: boolean;
	readonly file: string;
	readonly tokens: UsageTokens;
	readonly dollars: number;
	/** The part of `dollars` that a cache hit would have saved. */
	readonly missDollars: number;
	readonly reason: DearReason;
	/** The provider's own cause of a cache miss, in its words. */
	readonly providerReason?: string;
}

export interface UsageReport {
	readonly total: Sums;
	/** In order of day, agent, project and model. */
	readonly rows: readonly UsageRow[];
	/** The ten most expensive requests with known prices. */
	readonly dearest: readonly DearRequest[];
	/** Models without known prices; with the service tier, if that is why. */
	readonly unpricedModels: readonly string[];
	/** Lines of session files that could not be used. */
	readonly skippedLines: number;
}

interface Selection {
	/** Earlier requests do not count. */
	readonly sinceMs?: number | undefined;
	/** Default: all. */
	readonly agents?: readonly AgentName[] | undefined;
}

interface CountedRequest extends RequestUsage {
	readonly agent: AgentName;
	readonly project: string;
	readonly isSubagent: boolean;
	readonly file: string;
}

interface PricedRequest {
	readonly request: CountedRequest;
	readonly price: Price;
}

const MOST_DEAREST = 10;

/** Adds up files. Each request counts once, however many files hold a copy of it. */
export class UsageAccount {
	readonly #selection: Selection;
	readonly #byId = new Map<string, CountedRequest>();
	readonly #withoutId: CountedRequest[] = [];
	readonly #pricing = new Pricing();
	#skippedLines = 0;

	constructor(selection: Selection = {}) {
		this.#selection = selection;
	}

	add(file: string, { sessions, skipped }: FileUsage): void {
		const { sinceMs = Number.NEGATIVE_INFINITY, agents } = this.#selection;
		this.#skippedLines += skipped;
		for (const { requests, agent, project, isSubagent = false } of sessions) {
			if (agents && !agents.includes(agent)) continue;
			for (const request of requests) {
				// The demo's prices are made up, and no provider was asked.
				if (request.atMs < sinceMs || isDemoModel(request.model)) continue;
				this.#count({ ...request, agent, project, isSubagent, file });
			}
		}
	}

	report(): UsageReport {
		const rows = new Map<string, UsageRow>();
		const unpricedModels = new Set<string>();
		const priced: PricedRequest[] = [];
		for (const request of [...this.#byId.values(), ...this.#withoutId]) {
			const { agent, project, model } = request;
			const day = dayOf(request.atMs);
			const price = this.#pricing.priceOf(request);
			if (price) priced.push({ request, price });
			else unpricedModels.add(request.tier === undefined ? model : `${model} (${request.tier})`);
			const key = JSON.stringify([day, agent, project, model]);
			const sums = added(rows.get(key) ?? NOTHING, sumsOf(request, price));
			rows.set(key, { day, agent, project, model, ...sums });
		}
		const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
		return {
			total: totalOf(sorted),
			rows: sorted,
			dearest: this.#dearest(priced),
			unpricedModels: [...unpricedModels].sort(),
			skippedLines: this.#skippedLines,
		};
	}

	#count(request: CountedRequest): void {
		if (request.id === undefined) {
			this.#withoutId.push(request);
			return;
		}
		const key = `${request.agent}\0${request.id}`;
		const known = this.#byId.get(key);
		if (!known || isBetter(request, known)) this.#byId.set(key, request);
	}

	#dearest(priced: readonly PricedRequest[]): DearRequest[] {
		return priced
			.toSorted((a, b) => b.price.dollars - a.price.dollars || a.request.atMs - b.request.atMs)
			.slice(0, MOST_DEAREST)
			.map(({ request, price }) => {
				const { id: _, isFirst: __, miss: ___, ...shown } = request;
				return { ...shown, ...price, reason: this.#pricing.reasonOf(request, price) };
			});
	}
}

/** A copy with less output was cut off. Files arrive in any order, so their names decide the rest. */
function isBetter(request: CountedRequest, known: CountedRequest): boolean {
	const more = request.tokens.output - known.tokens.output;
	return more > 0 || (more === 0 && request.file < known.file);
}

function sumsOf({ tokens, miss }: RequestUsage, price: Price | undefined): Sums {
	return {
		requests: 1,
		tokens,
		...(price && { dollars: price.dollars }),
		unpriced: price ? 0 : 1,
		misses: miss
			? {
					[miss.cause]: {
						count: 1,
						tokens: miss.tokens,
						...(price && { dollars: price.missDollars }),
					},
				}
			: {},
	};
}

export const GROUPINGS = ["day", "week", "model", "agent", "project"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface UsageGroup extends Sums {
	/** The day, the Monday of the week, or the name; empty for an unknown project. */
	readonly name: string;
}

/** Days and weeks in order of time, others the dearest first. */
export function groupRows(rows: readonly UsageRow[], by: Grouping): UsageGroup[] {
	const groups = Map.groupBy(rows, (row) => (by === "week" ? weekOf(row.day) : row[by]));
	const sums = Array.from(groups, ([name, some]) => ({ name, ...totalOf(some) }));
	if (by === "day" || by === "week") return sums.sort((a, b) => (a.name < b.name ? -1 : 1));
	return sums.sort((a, b) => (b.dollars ?? 0) - (a.dollars ?? 0) || b.requests - a.requests);
}

function totalOf(rows: readonly Sums[]): Sums {
	const { requests, tokens, dollars, unpriced, misses } = rows.reduce<Sums>(added, NOTHING);
	return { requests, tokens, ...(dollars !== undefined && { dollars }), unpriced, misses };
}
