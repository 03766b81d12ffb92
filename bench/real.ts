/**
 * What each policy would have cost in real sessions, relative to the agent's own requests. The folder of traces
 * holds session files of pi, Claude Code and Codex (`.jsonl`, also `.jsonl.gz`), at any depth. A name such as
 * `source_12-….jsonl` says where a file comes from. A quick run has a generated session of pi.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { policiesWithBirth } from "../src/birth/index.ts";
import { describeError } from "../src/core/errno.ts";
import {
	appendOnly,
	knownModel,
	type ReplayModel,
	type ReplayPolicy,
	type ReplaySession,
	rebuildRequests,
	runPolicy,
} from "../src/economy/replay/index.ts";
import { rulesFor } from "../src/economy/rules.ts";
import { type ImportedSession, readSessions, resultTextOf } from "../src/importers/index.ts";
import { pruningPolicy } from "../src/pruning/index.ts";
import { pruneSettings, READ_RATIOS, sessionFile } from "./economy/trace.ts";
import { type Line, median, missing, options, report, tempFolder } from "./support.ts";

const ONLY_SHORTENS = ["read-cache", "birth", "quiet", "birth-quiet"];
/** The largest ratio that a session may have: what changes nothing that was sent may never cost more. */
const worstOf = (name: string) => (ONLY_SHORTENS.includes(name) ? 1 : 1.02);

/** Targets on a session of pi, by price of cached reads. */
const TARGETS: Readonly<Record<string, readonly number[]>> = {
	"birth-quiet": [0.9, 0.9, 0.9],
	"birth-clearing": [0.58, 0.7, 0.72],
};

/** Simple rules for comparison, and the baseline. */
const LEFT_OUT = ["no-cache", "append-only", "prune-each", "prune-batch"];

const { usual, further } = policiesWithBirth(pruningPolicy(pruneSettings), resultTextOf);
const policies = [...usual, ...further].filter(({ name }) => !LEFT_OUT.includes(name));

/** The costs of one session under each policy, relative to append-only. */
interface Row {
	readonly groups: readonly string[];
	readonly requests: number;
	readonly ratios: ReadonlyMap<string, number>;
}

report(await lines());

async function lines(): Promise<Line[]> {
	const folder = options.quick ? dirname(sessionFile() ?? "") : options.traces;
	if (folder === undefined) return missing("all", "give --traces <folder>") ?? [];
	const files = globSync("**/*.jsonl{,.gz}", { cwd: folder }).sort();
	const unpacked = tempFolder();
	const rows: Row[] = [];
	const prices: Line[] = [];
	for (const [index, file] of files.entries()) {
		const path = plainFile(join(folder, file), join(unpacked, `${index}.jsonl`));
		const sessions = await sessionsIn(path, file);
		const row = rowOf(sessions, file);
		if (row) rows.push(row);
		const isPi = sessions[0]?.agent === "pi";
		if (row && isPi && prices.length === 0) prices.push(...priceLines(sessions));
	}
	if (rows.length === 0) return missing("all", `${folder} has no session`) ?? [];
	const groups = [...new Set(rows.flatMap((row) => row.groups))].sort();
	return [
		...prices,
		...partLines(rows),
		...groups.flatMap((group) =>
			groupLines(
				group,
				rows.filter((row) => row.groups.includes(group)),
			),
		),
	];
}

function plainFile(file: string, unpacked: string): string {
	if (!file.endsWith(".gz")) return file;
	writeFileSync(unpacked, gunzipSync(readFileSync(file)));
	return unpacked;
}

/** A session and its sub-agents. None if the file is no session. */
async function sessionsIn(path: string, file: string): Promise<ImportedSession[]> {
	try {
		return await readSessions(path, { detail: "texts" });
	} catch (error) {
		return missing(file, describeError(error)) ?? [];
	}
}

/** `undefined` if the file has no billed request. */
function rowOf(sessions: readonly ImportedSession[], file: string): Row | undefined {
	const { ratios, requests } = ratiosOf(sessions, knownModel);
	const agent = sessions[0]?.agent;
	if (requests === 0 || agent === undefined) return undefined;
	const [source, number] = basename(file).split("_");
	const groups = [
		agent,
		...(number !== undefined && agent !== "pi" ? [`${agent}, ${source}`] : []),
	];
	return { groups, requests, ratios };
}

function ratiosOf(
	sessions: readonly ImportedSession[],
	modelFor: Parameters<typeof rebuildRequests>[1],
) {
	const rebuilt = sessions.map((session) => rebuildRequests(session, modelFor));
	const sum = (of: (requests: ReplaySession) => number) =>
		rebuilt.reduce((total, requests) => total + of(requests), 0);
	const costOf = (policy: ReplayPolicy) => sum((requests) => runPolicy(policy, requests).cost);
	const base = costOf(appendOnly);
	const ratios = new Map(policies.map((policy) => [policy.name, costOf(policy) / base]));
	return { ratios, requests: sum(({ bills }) => bills.length) };
}

/** The first session of pi, at several prices of cached reads. */
function priceLines(sessions: readonly ImportedSession[]): Line[] {
	return READ_RATIOS.flatMap((readRatio, at) => {
		const modelFor = (name: ReplayModel["name"]) => ({
			name,
			rules: rulesFor(name, { readRatio }),
			prices: undefined,
			contextWindow: 200_000,
		});
		const { ratios, requests } = ratiosOf(sessions, modelFor);
		return Array.from(ratios, ([name, value]): Line => {
			const target = options.quick ? undefined : TARGETS[name]?.[at];
			return {
				case: `pi: ${name}, reads at ${readRatio}`,
				unit: "× append-only",
				value,
				digits: 3,
				...(target !== undefined && { target }),
				from: { requests },
			};
		});
	});
}

/** What ships may cost more than one of its parts alone, since no rule knows what follows. */
function partLines(rows: readonly Row[]): Line[] {
	const over = rows.map(({ ratios }) => {
		const [strata = 0, ...parts] = ["strata", "pruning", "birth-quiet"].map((name) =>
			ratios.get(name),
		);
		return strata - Math.min(...parts.map((ratio) => ratio ?? Number.POSITIVE_INFINITY));
	});
	const from = { sessions: rows.length };
	return [
		{
			case: "all: strata, over its cheapest part, worst",
			unit: "× append-only",
			value: Math.max(0, ...over),
			digits: 3,
			from,
		},
		{
			case: "all: strata costs more than its cheapest part by 0.001 or more",
			unit: "sessions",
			value: over.filter((difference) => difference >= 0.001).length,
			digits: 0,
			from,
		},
	];
}

function groupLines(group: string, rows: readonly Row[]): Line[] {
	const requests = rows.reduce((sum, row) => sum + row.requests, 0);
	const from = { sessions: rows.length, requests };
	return policies.flatMap(({ name }) => {
		const values = rows.map(({ ratios }) => ratios.get(name) ?? Number.NaN);
		const line = { unit: "× append-only", digits: 3, from };
		const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
		const isOurs = name !== "billed";
		return [
			{ ...line, case: `${group}: ${name}, median`, value: median(values) },
			{ ...line, case: `${group}: ${name}, mean`, value: mean },
			{
				...line,
				case: `${group}: ${name}, worst`,
				value: Math.max(...values),
				...(isOurs && { target: worstOf(name) }),
			},
		];
	});
}
