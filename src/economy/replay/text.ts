import { counted } from "../../text/figures.ts";
import { MISS_CAUSES } from "../../text/miss-causes.ts";
import { plainText } from "../../text/one-line.ts";
import {
	clock,
	money,
	percent,
	savedAlreadyNotes,
	short,
	skippedNotes,
	summaryOf,
	times,
} from "./notes.ts";
import type { FolderReport, PolicyRow, ReplayReport } from "./report.ts";

/** The rest is in `--json`. */
const MOST_ROWS = 12;

/** Without colours; untrusted text cannot move the cursor. */
export function reportText(report: ReplayReport): string[] {
	return [
		`Session ${plainText(report.file, 500)}`,
		counted(report.requests, "request"),
		...report.models.map(
			({ name, requests, readRatio, writeRatio }) =>
				`  ${plainText(name)}: ${requests}, cached reads at ${readRatio}, writes at ${writeRatio} of the input price`,
		),
		...summaryOf(report),
		...savedAlreadyNotes(report),
		"",
		...policyLines(report.policies),
		"",
		...chartLines(report),
		...missLines(report),
		...duplicateLines(report),
		`Replay reproduces the bill to ${percent(report.check.deviation)} when told when the cache was lost.`,
		...skippedNotes(report),
	];
}

export function folderText({ file, requests, policies, sessions, failed }: FolderReport): string[] {
	return [
		`All sessions in ${plainText(file, 500)}`,
		`${counted(requests, "request")} in ${counted(sessions.length, "session")}`,
		"",
		...policyLines(policies),
		...(failed.length > 0 ? ["", "Left out:"] : []),
		...failed.map(({ reason }) => `  ${plainText(reason, 500)}`),
	];
}

const BAR_WIDTH = 24;
/** In multiples of append-only; more expensive policies get an arrow. */
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
	return table(
		["policy", "cost", "relative to append-only", "dollars", "read", "write", "input", "largest"],
		rows,
		[0, 2],
	);
}

function bar(ratio: number): string {
	const length = Math.round((Math.min(ratio, BAR_END) / BAR_END) * BAR_WIDTH);
	return ratio > BAR_END ? `${"█".repeat(BAR_WIDTH - 1)}▶` : "█".repeat(Math.max(1, length));
}

const CHART_WIDTH = 72;
const LEVELS = "▁▂▃▄▅▆▇█";

function chartLines({ chart }: ReplayReport): string[] {
	const sizes = chart.map(({ name, points }) => ({
		name,
		values: columns(points.map(({ input, read, write }) => input + read + write)),
	}));
	// Policies that send pi's own requests differ in price, not in size: they share a line.
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
		`Context per request, up to ${short(top)} tokens${billed ? ', and what was "written" to the cache as billed' : ""}`,
		...distinct.map(({ name, values }) => `  ${name.padEnd(width)}  ${values.map(level).join("")}`),
		"",
	];
}

function columns(values: readonly number[]): number[] {
	const size = Math.max(1, Math.ceil(values.length / CHART_WIDTH));
	const found: number[] = [];
	for (let from = 0; from < values.length; from += size) {
		found.push(Math.max(0, ...values.slice(from, from + size)));
	}
	return found;
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
			miss.changed === undefined ? "" : `first change: ${plainText(miss.changed, 60)}`,
		]);
	return [
		`${counted(misses.length, "cache miss", "cache misses")} cost ${short(cost)} input tokens${more(misses.length)}`,
		...table(["", "time (UTC)", "tokens", "cost", "cause", ""], rows, [0, 1, 4, 5]),
		"",
	];
}

function duplicateLines({ duplicateReads }: ReplayReport): string[] {
	if (duplicateReads.length === 0) return ["No file was read in vain.", ""];
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
		`Files read again in vain cost ${short(cost)} input tokens${more(duplicateReads.length)}`,
		...table(["", "tokens", "cost", "file"], rows, [3]),
		"",
	];
}

function more(rows: number): string {
	return rows > MOST_ROWS ? ` (the ${MOST_ROWS} dearest of ${rows})` : "";
}

/** Right-aligned, except the columns in `left`. */
function table(head: string[], rows: string[][], left: number[]): string[] {
	const widths = head.map((title, at) =>
		Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
	);
	const padded = (cell: string, at: number) =>
		left.includes(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
	return [head, ...rows].map((row) => `  ${row.map(padded).join("  ")}`.trimEnd());
}
