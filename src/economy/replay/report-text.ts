import { chunks } from "../../core/chunks.ts";
import { isDemoModel } from "../../core/demo-model.ts";
import { counted, grouped } from "../../text/figures.ts";
import { MISS_CAUSES } from "../../text/miss-causes.ts";
import { plainText } from "../../text/one-line.ts";
import { promptSize } from "./billed.ts";
import { percent } from "./deviation.ts";
import type { FolderReport, PolicyRow, ReplayReport } from "./report.ts";

/** Maximum number of rows in a table. `--json` has all of them. */
const MOST_ROWS = 12;

/** Returns lines without colours. Untrusted text in them cannot move the cursor. */
export function reportText(report: ReplayReport): string[] {
	return [
		`Session ${plainText(report.file, 500)}${partName(report)}`,
		`${counted(report.requests, "request")}${copiesNote(report)}`,
		...report.models.map(
			({ name, requests, readRatio, writeRatio }) =>
				`  ${plainText(name)}: ${counted(requests, "request")}; a cached read costs ${readRatio} × and a write ${writeRatio} × the input price`,
		),
		...summaryOf(report),
		...savedAlreadyNotes(report),
		"",
		...policyLines(report.policies),
		...madeUpNotes([report]),
		...unpricedNotes(report),
		"",
		...chartLines(report),
		...missLines(report),
		...duplicateLines(report),
		...compactionLines(report),
		...partLines(report),
		`With the cache losses that were billed, replay deviates from the bill by ${percent(report.check.deviation)}.`,
		...(report.check.reasons ?? []).map((reason) => `  ${reason}`),
		...skippedNotes(report),
	];
}

export function folderText(folder: FolderReport): string[] {
	const { file, requests, policies, sessions, failed } = folder;
	return [
		`All sessions in ${plainText(file, 500)}`,
		`${counted(requests, "request")} in ${counted(sessions.length, "session")}${copiesNote(folder)}`,
		"",
		...policyLines(policies),
		...madeUpNotes(sessions),
		...unpricedNotes(folder),
		...(failed.length > 0 ? ["", "Failed:"] : []),
		...failed.map(({ reason }) => `  ${plainText(reason, 500)}`),
	];
}

export function partName({
	session,
	subagent,
}: Pick<ReplayReport, "session" | "subagent">): string {
	if (subagent !== undefined) return `, sub-agent ${plainText(subagent)}`;
	return session === undefined ? "" : `, ${plainText(session)}`;
}

export function copiesNote({ copies = 0 }: { readonly copies?: number }): string {
	return copies === 0 ? "" : `, and ${counted(copies, "copy", "copies")} that count elsewhere`;
}

function partLines({ sessions = [] }: ReplayReport): string[] {
	if (sessions.length === 0) return [];
	const rows = sessions
		.toSorted((a, b) => b.cost - a.cost)
		.slice(0, MOST_ROWS)
		.map((part) => [
			String(part.requests),
			short(part.cost),
			String(part.misses),
			partName(part).slice(", ".length) || "the session itself",
		]);
	return [
		`${counted(sessions.length, "session")} in this file${more(sessions.length)}`,
		...table(["requests", "cost", "misses", ""], rows, [3]),
		"",
	];
}

const BAR_WIDTH = 24;
/** The cost of a full bar, in multiples of append-only. More expensive policies get an arrow. */
const BAR_END = 2;

function policyLines(policies: readonly PolicyRow[]): string[] {
	const rows = policies.map((row) => [
		row.name,
		times(row.ratio),
		bar(row.ratio),
		money(row.dollars),
		short(row.read),
		short(row.write),
		short(row.input),
		short(row.maxContext),
	]);
	return [
		...table(
			["policy", "cost", "relative to append-only", "dollars", "read", "write", "input", "largest"],
			rows,
			[0, 2],
		),
		...policies.map(({ name, description }) => `  ${name}: ${description}`),
	];
}

function bar(ratio: number): string {
	const length = Math.round((Math.min(ratio, BAR_END) / BAR_END) * BAR_WIDTH);
	return ratio > BAR_END ? `${"█".repeat(BAR_WIDTH - 1)}▶` : "█".repeat(Math.max(1, length));
}

const CHART_WIDTH = 72;
const LEVELS = "▁▂▃▄▅▆▇█";

function chartLines({ chart, sessions }: ReplayReport): string[] {
	const sizes = chart.map(({ name, points }) => ({
		name,
		values: columns(points.map(promptSize)),
	}));
	// Policies that send the agent's own requests differ in price, not in size, so they share a line.
	sizes.sort((a, b) => Number(b.name === "append-only") - Number(a.name === "append-only"));
	const billed = chart.find(({ name }) => name === "billed");
	if (billed) sizes.push({ name: "written", values: columns(billed.points.map((p) => p.write)) });
	const distinct = sizes.filter(
		({ values }, at) => sizes.findIndex((other) => other.values.join() === values.join()) === at,
	);
	if (distinct.length === 0) return [];
	const top = Math.max(1, ...distinct.flatMap(({ values }) => values));
	const level = (value: number) => LEVELS[Math.min(7, Math.floor((value / top) * 8))] as string;
	const width = Math.max(...distinct.map(({ name }) => name.length));
	return [
		`Prompt tokens per request${sessions ? " of the first session" : ""}; a full column is ${short(top)}${billed ? '; "written": billed cache writes' : ""}`,
		...distinct.map(({ name, values }) => `  ${name.padEnd(width)}  ${values.map(level).join("")}`),
		"",
	];
}

function columns(values: readonly number[]): number[] {
	const runs = chunks(values, Math.ceil(values.length / CHART_WIDTH));
	return runs.map((run) => Math.max(0, ...run));
}

function missLines({ misses }: ReplayReport): string[] {
	if (misses.length === 0) return ["No cache misses.", ""];
	const cost = misses.reduce((sum, miss) => sum + miss.cost, 0);
	const rows = misses
		.toSorted((a, b) => b.cost - a.cost)
		.slice(0, MOST_ROWS)
		.map((miss) => [
			`#${miss.request}`,
			clock(miss.atMs),
			short(miss.tokens),
			short(miss.cost),
			MISS_CAUSES[miss.cause],
			[
				partName(miss).slice(", ".length),
				miss.changed === undefined ? "" : `first change: ${plainText(miss.changed, 60)}`,
				miss.providerReason === undefined
					? ""
					: `the provider says: ${plainText(miss.providerReason, 40)}`,
			]
				.filter(Boolean)
				.join("; "),
		]);
	return [
		`${counted(misses.length, "cache miss", "cache misses")} cost ${short(cost)} input tokens${more(misses.length)}`,
		...table(["", "time (UTC)", "tokens", "cost", "cause", ""], rows, [0, 1, 4, 5]),
		"",
	];
}

function duplicateLines({ duplicateReads }: ReplayReport): string[] {
	if (duplicateReads.length === 0) return ["No redundant file reads.", ""];
	const cost = duplicateReads.reduce((sum, file) => sum + file.cost, 0);
	const rows = duplicateReads
		.slice(0, MOST_ROWS)
		.map((file) => [
			`${file.times} ×`,
			short(file.tokens),
			short(file.cost),
			plainText(file.path, 100),
		]);
	return [
		`Redundant file reads cost ${short(cost)} input tokens${more(duplicateReads.length)}`,
		...table(["", "tokens", "cost", "file"], rows, [3]),
		"",
	];
}

function compactionLines(report: ReplayReport): string[] {
	return [...readAgainLines(report), ...missedLines(report)];
}

function readAgainLines({ readsAfterCompactions: found }: ReplayReport): string[] {
	if (!found || found.reads === 0) return [];
	const { compactions, reads, unchanged, tokens } = found;
	return [
		`After ${counted(compactions, "compaction")}, ${grouped(unchanged)} of ${counted(reads, "file read")} were of text that had been in view and had not changed: ${short(tokens)} tokens.`,
		"",
	];
}

function missedLines({ missedCompaction: missed }: ReplayReport): string[] {
	if (!missed) return [];
	const { request, tokens, cost, saved } = missed;
	return [
		`A compaction before request #${request}, at ${short(tokens)} tokens, would have cost ${short(cost)} input tokens and saved ${short(saved)}.`,
		"",
	];
}

function more(rows: number): string {
	return rows > MOST_ROWS ? ` (the table shows the ${MOST_ROWS} most expensive of ${rows})` : "";
}

/** Columns are right-aligned, except those in `left`. */
function table(head: string[], rows: string[][], left: number[]): string[] {
	const widths = head.map((title, at) =>
		Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
	);
	const padded = (cell: string, at: number) =>
		left.includes(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
	return [head, ...rows].map((row) => `  ${row.map(padded).join("  ")}`.trimEnd());
}

export function summaryOf({
	policies,
	misses,
}: Pick<ReplayReport, "policies" | "misses">): string[] {
	const ratioOf = (policy: string) => policies.find(({ name }) => name === policy)?.ratio;
	const [billed, strata] = [ratioOf("billed"), ratioOf("strata")];
	const missed = misses.reduce((sum, { cost }) => sum + cost, 0);
	const sentences: string[] = [];
	if (billed !== undefined) {
		const why = misses.length > 0 ? `; cache misses cost ${short(missed)} input tokens` : "";
		sentences.push(`Billed: ${times(billed)} × the cost of append-only${why}.`);
	}
	if (strata !== undefined)
		sentences.push(`Strata would have cost ${times(strata)} × as much as append-only.`);
	return sentences.length > 0 ? [sentences.join(" ")] : [];
}

export function savedAlreadyNotes({ savedAlready }: ReplayReport): string[] {
	const { shortReads, edits } = savedAlready;
	const done = [
		...(shortReads > 0 ? [`${counted(shortReads, "read")} answered with a marker or diff`] : []),
		...(edits > 0 ? [`${counted(edits, "message")} replaced or removed`] : []),
	];
	const note = `The context was already reduced while the session ran (${done.join(", ")}). Its bill and all policies include these savings.`;
	return done.length > 0 ? [note] : [];
}

export function madeUpNotes(reports: readonly Pick<ReplayReport, "models">[]): string[] {
	const isDemo = reports.some(({ models }) => models.some(({ name }) => isDemoModel(name)));
	return isDemo ? ["The prices of the demo are made up."] : [];
}

export function unpricedNotes({ unpriced = 0 }: { readonly unpriced?: number }): string[] {
	if (unpriced === 0) return [];
	const they = unpriced === 1 ? "It counts" : "They count";
	return [`Unpriced: ${counted(unpriced, "request")}. ${they} in no sum of dollars.`];
}

export function skippedNotes({ skipped, skippedBy }: ReplayReport): string[] {
	const { damaged, tooLong, surplus, relinked, requests } = skippedBy;
	const notes = [
		skipped > 0 &&
			`${counted(skipped, "line was", "lines were")} skipped: ${damaged} damaged, ${tooLong} too long, ${surplus} beyond the limit.`,
		relinked > 0 &&
			`${counted(relinked, "entry names", "entries name")} a missing parent and ${relinked === 1 ? "was" : "were"} attached to the line above.`,
		requests > 0 &&
			`The session is too large: its last ${requests === 1 ? "request is" : `${requests} requests are`} omitted.`,
	];
	return notes.filter((note) => note !== false);
}

/** Formats a ratio, such as `0.61` or `12.3`. */
export function times(ratio: number): string {
	return ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
}

export function money(dollars: number | undefined): string {
	return dollars === undefined ? "" : `$${dollars.toFixed(2)}`;
}

/** Formats a time in UTC, as in the session file. */
export function clock(ms: number): string {
	const date = new Date(ms);
	return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(0, 19).replace("T", " ");
}

/** Formats a count, such as `1.23 M`, `45.6 k` or `789`. */
export function short(count: number): string {
	if (count < 999.5) return String(Math.round(count));
	const power = UNITS.findIndex((_, at) => count < 999.5 * 1000 ** at);
	const at = power === -1 ? UNITS.length - 1 : power;
	return `${(count / 1000 ** at).toPrecision(3)}${UNITS[at]}`;
}

const UNITS = ["", " k", " M", " G", " T"];
