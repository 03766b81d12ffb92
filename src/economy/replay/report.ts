import type { PromptTokens } from "../../core/bill.ts";
import { chunks } from "../../core/chunks.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import { sharedStart } from "../model-request.ts";
import { type CacheRules, costOf, dollarsOf } from "../rules.ts";
import type { SessionBlock } from "./assembly.ts";
import { promptSize } from "./billed.ts";
import { fullName } from "./entry.ts";
import { findMisses, type ReplayMiss } from "./misses.ts";
import {
	appendOnly,
	appendOnlyWithLosses,
	type PolicyOutcome,
	type ReplayPolicy,
	runPolicy,
} from "./policies.ts";
import { createReadReplacer } from "./replaced-reads.ts";
import type { Bill, ReplaySession, Skipped } from "./requests.ts";

/** The result of a replay, as plain data. Costs are in plain input tokens, without the answers. */
export interface ReplayReport {
	readonly file: string;
	readonly requests: number;
	readonly models: readonly ReportModel[];
	readonly policies: readonly PolicyRow[];
	readonly misses: readonly Omit<ReplayMiss, "isTotal">[];
	readonly duplicateReads: readonly DuplicateRead[];
	/** How well replay reproduces the bill, given the cache losses that the bills show. */
	readonly check: {
		readonly simulated: number;
		readonly billed: number;
		readonly deviation: number;
	};
	readonly savedAlready: ReplaySession["savedAlready"];
	readonly skipped: number;
	readonly skippedBy: Skipped;
	/** The tokens of each request. Long sessions are thinned out. */
	readonly chart: readonly { readonly name: string; readonly points: readonly PromptTokens[] }[];
}

interface ReportModel extends Pick<CacheRules, "readRatio" | "writeRatio" | "because"> {
	/** `provider/id` */
	readonly name: string;
	readonly requests: number;
}

export interface PolicyRow extends Omit<PolicyOutcome, "requests" | "writeOneHour"> {
	/** Cost relative to append-only. */
	readonly ratio: number;
	/** Without the answers; absent if a price is unknown. */
	readonly dollars?: number;
}

/** Maximum number of points in a chart. No chart is wider. */
const MAX_POINTS = 1000;

export function buildReport(
	session: ReplaySession,
	options: {
		readonly policies: readonly ReplayPolicy[];
		/** Called with the name of each policy as it starts, then with `misses`. */
		readonly onProgress?: (policy: string) => void;
	},
): ReplayReport {
	const { policies, onProgress } = options;
	const { damaged, tooLong, surplus } = session.skipped;
	const outcomeOf = (policy: ReplayPolicy) => {
		onProgress?.(policy.name);
		return runPolicy(policy, session);
	};
	const base = outcomeOf(appendOnly);
	const outcomes = policies.map((policy) => (policy === appendOnly ? base : outcomeOf(policy)));
	onProgress?.("misses");
	const misses = findMisses(session);
	return {
		file: session.file,
		requests: session.bills.length,
		models: modelsOf(session),
		policies: outcomes.map((outcome) => rowOf(outcome, base.cost, session)),
		misses: misses.map(({ isTotal: _, ...miss }) => miss),
		duplicateReads: findDuplicateReads(session),
		check: checkOf(session, misses),
		savedAlready: session.savedAlready,
		skipped: damaged + tooLong + surplus,
		skippedBy: session.skipped,
		chart: outcomes.map(({ name, requests }) => ({ name, points: thinnedOut(requests) })),
	};
}

function rowOf(outcome: PolicyOutcome, base: number, session: ReplaySession): PolicyRow {
	const { name, description, cost, read, write, input, maxContext } = outcome;
	const dollars = dollarsFor(outcome, session);
	const price = dollars === undefined ? {} : { dollars };
	return { name, description, cost, ratio: cost / base, ...price, read, write, input, maxContext };
}

function dollarsFor({ requests }: PolicyOutcome, { bills }: ReplaySession): number | undefined {
	let dollars = 0;
	for (const [index, tokens] of requests.entries()) {
		const prices = bills[index]?.model.prices;
		if (!prices?.input) return undefined;
		dollars += dollarsOf(tokens, prices);
	}
	return dollars;
}

function checkOf(session: ReplaySession, misses: readonly ReplayMiss[]): ReplayReport["check"] {
	const lost = new Set(misses.filter(({ isTotal }) => isTotal).map(({ request }) => request - 1));
	const policy = appendOnlyWithLosses(({ index }) => lost.has(index));
	const simulated = runPolicy(policy, session).cost;
	const billed = sum(session.bills, (bill) => costOf(bill.billed, bill.model.rules));
	return { simulated, billed, deviation: simulated / billed - 1 };
}

function modelsOf({ bills }: ReplaySession): ReportModel[] {
	const models = Map.groupBy(bills, ({ model }) => fullName(model.name));
	return Array.from(models, ([name, [first, ...more]]): ReportModel => {
		const { readRatio, writeRatio, because } = (first as Bill).model.rules;
		return { name, requests: 1 + more.length, readRatio, writeRatio, because };
	}).sort((a, b) => b.requests - a.requests);
}

/** Keeps the largest prompt of each run of requests. */
function thinnedOut(requests: readonly PromptTokens[]): PromptTokens[] {
	const larger = (a: PromptTokens, b: PromptTokens) => (promptSize(b) > promptSize(a) ? b : a);
	const runs = chunks(requests, Math.ceil(requests.length / MAX_POINTS));
	return runs.map((run) => run.reduce(larger));
}

export interface FolderReport {
	/** Path of the folder. */
	readonly file: string;
	readonly requests: number;
	readonly policies: readonly PolicyRow[];
	readonly misses: readonly (Omit<ReplayMiss, "isTotal"> & { readonly file: string })[];
	readonly skipped: number;
	readonly sessions: readonly Omit<ReplayReport, "chart">[];
	readonly failed: readonly { readonly file: string; readonly reason: string }[];
}

/** All reports must have the same policies. */
export function combineReports(
	folder: string,
	reports: FolderReport["sessions"],
	failed: FolderReport["failed"],
): FolderReport {
	const names = reports[0]?.policies.map(({ name }) => name) ?? [];
	return {
		file: folder,
		requests: sum(reports, ({ requests }) => requests),
		policies: names.map((_, at) =>
			totalOf(reports.map(({ policies }) => policies[at] as PolicyRow)),
		),
		misses: reports.flatMap(({ file, misses }) => misses.map((miss) => ({ file, ...miss }))),
		skipped: sum(reports, ({ skipped }) => skipped),
		sessions: reports,
		failed,
	};
}

function totalOf(rows: readonly PolicyRow[]): PolicyRow {
	const { name, description } = rows[0] as PolicyRow;
	const cost = sum(rows, (row) => row.cost);
	const dollars = rows.every((row) => row.dollars !== undefined);
	return {
		name,
		description,
		cost,
		ratio: cost / sum(rows, (row) => row.cost / row.ratio),
		...(dollars && { dollars: sum(rows, (row) => row.dollars ?? 0) }),
		read: sum(rows, (row) => row.read),
		write: sum(rows, (row) => row.write),
		input: sum(rows, (row) => row.input),
		maxContext: rows.reduce((most, row) => Math.max(most, row.maxContext), 0),
	};
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
	return items.reduce((total, item) => total + of(item), 0);
}

interface DuplicateRead {
	readonly path: string;
	readonly times: number;
	/** Tokens of the redundant reads. */
	readonly tokens: number;
	/** In plain input tokens: the text is written once, then read with every later request. */
	readonly cost: number;
}

/** Returns the most expensive first. */
export function findDuplicateReads(session: ReplaySession): DuplicateRead[] {
	const shorten = createReadReplacer();
	const seen = new Set<number>();
	const files = new Map<string, { path: string; times: number; tokens: number; cost: number }>();
	let before: readonly SessionBlock[] = [];
	let redundant: { file: { cost: number }; saved: number }[] = [];
	for (const { blocks, model } of session.steps()) {
		const { writeRatio, readRatio } = model.rules;
		const shortened = shorten(blocks);
		const known = sharedStart(before, blocks);
		if (known < before.length) redundant = [];
		const from = known < before.length ? 0 : known;
		before = blocks;
		for (const { file, saved } of redundant) file.cost += saved * readRatio;
		for (const [index, block] of blocks.slice(from).entries()) {
			const saved = block.tokens - (shortened[from + index]?.tokens ?? 0);
			const path = block.result?.read?.path;
			if (saved <= 0 || path === undefined) continue;
			const file = getOrAdd(files, path, () => ({ path, times: 0, tokens: 0, cost: 0 }));
			const isNew = !seen.has(block.id);
			seen.add(block.id);
			file.times += isNew ? 1 : 0;
			file.tokens += isNew ? saved : 0;
			file.cost += saved * (isNew ? writeRatio : readRatio);
			redundant.push({ file, saved });
		}
	}
	return [...files.values()].sort((a, b) => b.cost - a.cost);
}
