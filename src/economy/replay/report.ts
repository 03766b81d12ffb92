import type { PromptTokens } from "../../core/bill.ts";
import { chunks } from "../../core/chunks.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { MissedCompaction } from "../missed-compaction.ts";
import { sharedStart } from "../model-request.ts";
import { type CacheRules, dollarsOf } from "../rules.ts";
import type { SessionBlock } from "./assembly.ts";
import { promptSize } from "./billed.ts";
import { findMissedCompaction } from "./compaction.ts";
import { checkDeviation, type DeviationCheck, joinChecks } from "./deviation.ts";
import { fullName } from "./entry.ts";
import { findMisses, type ReplayMiss } from "./misses.ts";
import { appendOnly, type PolicyOutcome, type ReplayPolicy, runPolicy } from "./policies.ts";
import { findReadsAfterCompactions, type ReadsAfterCompactions } from "./reads-after-compaction.ts";
import { createReadReplacer } from "./replaced-reads.ts";
import { type Bill, countedBills, type ReplaySession, type Skipped } from "./requests.ts";

/** The result of a replay, as plain data. Costs are in plain input tokens, without the answers. */
export interface ReplayReport extends SessionLabel {
	readonly file: string;
	readonly requests: number;
	/** Requests that another session counts; in no other figure. Absent if there are none. */
	readonly copies?: number;
	/** Requests without a known price, which no sum of dollars includes. Absent if there are none. */
	readonly unpriced?: number;
	readonly models: readonly ReportModel[];
	readonly policies: readonly PolicyRow[];
	readonly misses: readonly ReportMiss[];
	readonly duplicateReads: readonly DuplicateRead[];
	/** Absent if no compaction would have paid, or if the report joins several sessions. */
	readonly missedCompaction?: MissedCompaction;
	/** Absent if nothing was compacted. */
	readonly readsAfterCompactions?: ReadsAfterCompactions;
	readonly check: DeviationCheck;
	readonly savedAlready: ReplaySession["savedAlready"];
	readonly skipped: number;
	readonly skippedBy: Skipped;
	/** The tokens of each request. Long sessions are thinned out. */
	readonly chart: readonly { readonly name: string; readonly points: readonly PromptTokens[] }[];
	/** The sessions of a file with more than one, such as sub-agents; their figures are in the sums. */
	readonly sessions?: readonly PartReport[];
}

/** Labelled if the report joins several sessions. */
type ReportMiss = Omit<ReplayMiss, "isUnforeseen"> & SessionLabel;

interface PartReport extends SessionLabel {
	readonly requests: number;
	/** As billed, in plain input tokens. */
	readonly cost: number;
	readonly misses: number;
}

/** Absent fields are unknown, or the file has one session. */
export interface SessionLabel {
	/** The agent's own id of the session. */
	readonly session?: string;
	/** Set for a sub-agent: its id. */
	readonly subagent?: string;
}

interface ReportModel extends Pick<CacheRules, "readRatio" | "writeRatio" | "because"> {
	/** `provider/id` */
	readonly name: string;
	readonly requests: number;
}

export interface PolicyRow extends Omit<PolicyOutcome, "requests" | "writeOneHour"> {
	/** Cost relative to append-only. */
	readonly ratio: number;
	/** Of the requests with a known price, without the answers; absent if there are none. */
	readonly dollars?: number;
}

/** Maximum number of points in a chart. No chart is wider. */
const MAX_POINTS = 1000;

export function buildReport(
	session: ReplaySession,
	options: SessionLabel & {
		readonly policies: readonly ReplayPolicy[];
		/** Called with the name of each policy as it starts, then with `misses`. */
		readonly onProgress?: (policy: string) => void;
	},
): ReplayReport {
	const { policies, onProgress, session: id, subagent } = options;
	const counted = countedBills(session).length;
	const copies = session.bills.length - counted;
	const { damaged, tooLong, surplus } = session.skipped;
	const outcomeOf = (policy: ReplayPolicy) => {
		onProgress?.(policy.name);
		return runPolicy(policy, session);
	};
	const base = outcomeOf(appendOnly);
	const outcomes = policies.map((policy) => (policy === appendOnly ? base : outcomeOf(policy)));
	onProgress?.("misses");
	const misses = findMisses(session);
	const missedCompaction = findMissedCompaction(session);
	const readsAfterCompactions = findReadsAfterCompactions(session);
	return {
		file: session.file,
		...(id !== undefined && { session: id }),
		...(subagent !== undefined && { subagent }),
		requests: counted,
		...(copies > 0 && { copies }),
		...countOfUnpriced(countedBills(session).filter((bill) => !isPriced(bill)).length),
		models: modelsOf(session),
		policies: outcomes.map((outcome) => rowOf(outcome, base.cost, session)),
		misses: misses.map(({ isUnforeseen: _, ...miss }) => miss),
		duplicateReads: findDuplicateReads(session),
		...(missedCompaction && { missedCompaction }),
		...(readsAfterCompactions && { readsAfterCompactions }),
		check: checkDeviation(session, base.requests, misses),
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

function dollarsFor({ requests }: PolicyOutcome, session: ReplaySession): number | undefined {
	const bills = countedBills(session);
	let dollars: number | undefined;
	for (const [index, tokens] of requests.entries()) {
		const bill = bills[index] as Bill;
		const { prices, rules } = bill.model;
		if (prices && isPriced(bill)) dollars = (dollars ?? 0) + dollarsOf(tokens, prices, rules);
	}
	return dollars;
}

/** List prices are for the standard tier only. */
function isPriced({ model, tier }: Bill): boolean {
	return Boolean(model.prices?.input) && tier === undefined;
}

function countOfUnpriced(unpriced: number): { readonly unpriced?: number } {
	return unpriced > 0 ? { unpriced } : {};
}

function modelsOf(session: ReplaySession): ReportModel[] {
	const models = Map.groupBy(countedBills(session), ({ model }) => fullName(model.name));
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
	readonly unpriced?: number;
	readonly policies: readonly PolicyRow[];
	readonly misses: readonly (ReportMiss & { readonly file: string })[];
	readonly skipped: number;
	/** Requests that are also in another file; counted once. Absent if there are none. */
	readonly copies?: number;
	readonly sessions: readonly Omit<ReplayReport, "chart">[];
	readonly failed: readonly { readonly file: string; readonly reason: string }[];
}

/** All reports must have the same policies. */
export function combineReports(
	folder: string,
	reports: FolderReport["sessions"],
	failed: FolderReport["failed"],
	/** Copies in files without requests of their own. */
	copiesInOthers = 0,
): FolderReport {
	const copies = sum(reports, (report) => report.copies ?? 0) + copiesInOthers;
	return {
		file: folder,
		requests: sum(reports, ({ requests }) => requests),
		...(copies > 0 && { copies }),
		...countOfUnpriced(sum(reports, (report) => report.unpriced ?? 0)),
		policies: totalsOf(reports),
		misses: reports.flatMap(({ file, misses }) => misses.map((miss) => ({ file, ...miss }))),
		// All sessions of a file report the same skipped lines.
		skipped: sum(
			[...new Map(reports.map((one) => [one.file, one])).values()],
			(one) => one.skipped,
		),
		sessions: reports,
		failed,
	};
}

/** One report for all sessions of a file. The chart is that of the first. */
export function joinReports(reports: readonly ReplayReport[]): ReplayReport | undefined {
	const [first, ...more] = reports;
	if (!first || more.length === 0) return first;
	const copies = sum(reports, (report) => report.copies ?? 0);
	const { session: _, subagent: __, missedCompaction: ___, ...main } = first;
	return {
		...main,
		requests: sum(reports, ({ requests }) => requests),
		...(copies > 0 && { copies }),
		...countOfUnpriced(sum(reports, (report) => report.unpriced ?? 0)),
		models: joinModels(reports.flatMap(({ models }) => models)),
		policies: totalsOf(reports),
		misses: reports.flatMap(labelledMisses).sort((a, b) => a.atMs - b.atMs),
		duplicateReads: joinReads(reports.flatMap(({ duplicateReads }) => duplicateReads)),
		...joinCompactions(reports),
		check: joinChecks(reports.map(({ check }) => check)),
		savedAlready: {
			shortReads: sum(reports, ({ savedAlready }) => savedAlready.shortReads),
			edits: sum(reports, ({ savedAlready }) => savedAlready.edits),
		},
		// Lines are skipped before they belong to a session, so all reports count the same ones.
		skippedBy: {
			...first.skippedBy,
			requests: sum(reports, ({ skippedBy }) => skippedBy.requests),
		},
		sessions: reports.map(({ session, subagent, requests, check, misses }) => ({
			...(session !== undefined && { session }),
			...(subagent !== undefined && { subagent }),
			requests,
			cost: check.billed,
			misses: misses.length,
		})),
	};
}

/** Each session numbers its own requests. */
function labelledMisses({ misses, session, subagent }: ReplayReport): ReportMiss[] {
	const label = {
		...(session !== undefined && { session }),
		...(subagent !== undefined && { subagent }),
	};
	return misses.map((miss) => ({ ...miss, ...label }));
}

function joinModels(models: readonly ReportModel[]): ReportModel[] {
	const byName = [...Map.groupBy(models, ({ name }) => name).values()];
	return byName
		.map((same) => ({ ...(same[0] as ReportModel), requests: sum(same, (one) => one.requests) }))
		.sort((a, b) => b.requests - a.requests);
}

function joinCompactions(reports: readonly ReplayReport[]) {
	const found = reports.flatMap(({ readsAfterCompactions }) => readsAfterCompactions ?? []);
	if (found.length === 0) return {};
	const readsAfterCompactions: ReadsAfterCompactions = {
		compactions: sum(found, ({ compactions }) => compactions),
		reads: sum(found, ({ reads }) => reads),
		unchanged: sum(found, ({ unchanged }) => unchanged),
		tokens: sum(found, ({ tokens }) => tokens),
	};
	return { readsAfterCompactions };
}

function joinReads(reads: readonly DuplicateRead[]): DuplicateRead[] {
	const joined = Array.from(
		Map.groupBy(reads, ({ path }) => path),
		([path, same]) => ({
			path,
			times: sum(same, ({ times }) => times),
			tokens: sum(same, ({ tokens }) => tokens),
			cost: sum(same, ({ cost }) => cost),
		}),
	);
	return joined.sort((a, b) => b.cost - a.cost);
}

/** All reports must have the same policies. */
function totalsOf(reports: readonly Pick<ReplayReport, "policies">[]): PolicyRow[] {
	const names = reports[0]?.policies.map(({ name }) => name) ?? [];
	return names.map((_, at) => totalOf(reports.map(({ policies }) => policies[at] as PolicyRow)));
}

function totalOf(rows: readonly PolicyRow[]): PolicyRow {
	const { name, description } = rows[0] as PolicyRow;
	const cost = sum(rows, (row) => row.cost);
	const isPriced = rows.some((row) => row.dollars !== undefined);
	return {
		name,
		description,
		cost,
		ratio: cost / sum(rows, (row) => row.cost / row.ratio),
		...(isPriced && { dollars: sum(rows, (row) => row.dollars ?? 0) }),
		read: sum(rows, (row) => row.read),
		write: sum(rows, (row) => row.write),
		input: sum(rows, (row) => row.input),
		maxContext: rows.reduce((most, row) => Math.max(most, row.maxContext), 0),
	};
}

function sum<T>(items: readonly T[], of: (item: T, at: number) => number): number {
	return items.reduce((total, item, at) => total + of(item, at), 0);
}

interface DuplicateRead {
	readonly path: string;
	readonly times: number;
	/** Tokens of the redundant reads. */
	readonly tokens: number;
	/** In plain input tokens: the text is written once, then read with every later request. */
	readonly cost: number;
}

/** For copies, which another session pays. */
const FREE = { writeRatio: 0, readRatio: 0 };

/** Returns the most expensive first. */
export function findDuplicateReads(session: ReplaySession): DuplicateRead[] {
	const shorten = createReadReplacer();
	const seen = new Set<number>();
	const files = new Map<string, { path: string; times: number; tokens: number; cost: number }>();
	let before: readonly SessionBlock[] = [];
	let redundant: { file: { cost: number }; saved: number }[] = [];
	for (const { blocks, model, isCopy } of session.steps()) {
		const { writeRatio, readRatio } = isCopy ? FREE : model.rules;
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
			const isNew = !seen.has(block.id) && !isCopy;
			seen.add(block.id);
			file.times += isNew ? 1 : 0;
			file.tokens += isNew ? saved : 0;
			file.cost += saved * (isNew ? writeRatio : readRatio);
			redundant.push({ file, saved });
		}
	}
	return [...files.values()].sort((a, b) => b.cost - a.cost);
}
