import { homedir } from "node:os";
import { csvDollars, csvLines, USAGE_COLUMNS } from "../text/csv.ts";
import { counted, grouped, short } from "../text/figures.ts";
import { MISS_CAUSES } from "../text/miss-causes.ts";
import { plainText } from "../text/one-line.ts";
import type { DearRequest, UsageGroup, UsageReport, UsageRow } from "./account.ts";
import { dayOf } from "./period.ts";
import { allMisses, hitRate, type MissSums, missEntries, type Sums } from "./sums.ts";

/** The first lines: what a person needs to know in ten seconds. */
export function summaryText({ total, rows, unpricedModels, skippedLines }: UsageReport): string[] {
	if (total.requests === 0)
		return ["No requests with token counts from a provider. Those of the demo are left out."];
	const { input, read, write, output } = total.tokens;
	const [first, last] = [rows[0]?.day, rows.at(-1)?.day];
	const days = first === last ? first : `${first} to ${last}`;
	const agents = [...new Set(rows.map(({ agent }) => agent))].sort().join(", ");
	const lost = allMisses(total.misses);
	const share =
		lost.dollars !== undefined && total.dollars
			? `, ${percent(lost.dollars / total.dollars)} of the cost`
			: "";
	const unknown =
		total.unpriced > 0
			? [
					`Prices unknown: ${counted(total.unpriced, "request")} of ${unpricedModels.map((name) => plainText(name)).join(", ")}. They count in no sum of dollars.`,
				]
			: [];
	const skipped =
		skippedLines > 0
			? [`Skipped: ${counted(skippedLines, "line")} of session files could not be used.`]
			: [];
	return [
		`${costText(total)} for ${counted(total.requests, "request")} of ${agents}, ${days}`,
		`Tokens: ${short(input + write)} new, ${short(read)} from caches (${percent(hitRate(total.tokens))} of all prompts), ${short(output)} output`,
		lost.count === 0 ? "Cache misses: none" : `Cache misses: ${missText(lost)}${share}`,
		...missEntries(total.misses).map(
			([cause, sums]) => `  ${missText(sums)}: ${MISS_CAUSES[cause]}`,
		),
		...unknown,
		...skipped,
	];
}

/** One line for each row, with a head. */
export function csvText(rows: readonly UsageRow[]): string[] {
	return csvLines(
		USAGE_COLUMNS,
		rows.map(({ day, agent, project, model, requests, dollars, unpriced, tokens, misses }) => {
			const { input, read, write, output } = tokens;
			const lost = allMisses(misses);
			return [
				...[day, agent, project, model, requests, csvDollars(dollars), unpriced],
				...[input, read, write, output, lost.count, csvDollars(lost.dollars)],
			];
		}),
	);
}

export function tableText(groups: readonly UsageGroup[], by: string): string[] {
	const head = [by, "requests", "cost", "cached", "new", "read", "output", "misses", "their cost"];
	const rows = groups.map((group) => {
		const { input, read, write, output } = group.tokens;
		const lost = allMisses(group.misses);
		const figures = [input + write, read, output].map(short);
		return [
			shownName(group.name, by),
			grouped(group.requests),
			costText(group),
			percent(hitRate(group.tokens)),
			...figures,
			String(lost.count),
			lost.count === 0 ? "–" : dollarsText(lost.dollars),
		];
	});
	return aligned([head, ...rows], (column) => column === 0);
}

export function dearestText(dearest: readonly DearRequest[]): string[] {
	const lines = dearest.map((one) => {
		const { dollars, missDollars, atMs, model, project, isSubagent, reason, providerReason } = one;
		const why = isCause(reason) ? MISS_CAUSES[reason] : reason;
		const loss = missDollars > 0 ? ` (${dollarsText(missDollars)} by the miss)` : "";
		const theirs = providerReason ? `; the provider says ${plainText(providerReason, 60)}` : "";
		const where = `${shownName(project, "project")}${isSubagent ? ", sub-agent" : ""}`;
		return {
			cells: [dollarsText(dollars), `${dayOf(atMs)} ${timeOf(atMs)}`, plainText(model, 40), where],
			why: `${why}${loss}${theirs}`,
		};
	});
	const table = aligned(
		lines.map(({ cells }) => cells),
		(column) => column > 0,
	);
	return lines.flatMap(({ why }, at) => [table[at] ?? "", `    ${why}`]);
}

function isCause(reason: string): reason is keyof typeof MISS_CAUSES {
	return reason in MISS_CAUSES;
}

/** One line for a terminal's status bar, about today. */
export function statusLine({ total }: UsageReport): string {
	if (total.requests === 0) return "no requests today";
	const { input, read, write } = total.tokens;
	const known = total.dollars !== undefined;
	const cost = known ? costText(total) : `${short(input + read + write)} tokens, price unknown,`;
	const lost = allMisses(total.misses);
	const misses = lost.count === 0 ? "no misses" : missText(lost);
	return `${cost} today · ${percent(hitRate(total.tokens))} cached · ${misses}`;
}

function missText({ count, tokens, dollars }: MissSums): string {
	const cost = dollars === undefined ? `${short(tokens)} tokens` : dollarsText(dollars);
	return `${counted(count, "miss", "misses")} ${cost}`;
}

/** Says so if some prices are unknown. */
function costText({ dollars, unpriced }: Sums): string {
	if (dollars === undefined) return "price unknown";
	return unpriced > 0 ? `${dollarsText(dollars)}+` : dollarsText(dollars);
}

function dollarsText(dollars: number | undefined): string {
	if (dollars === undefined) return "unknown";
	if (dollars > 0 && dollars < 0.01) return "<$0.01";
	const [whole = "", cents] = dollars.toFixed(2).split(".");
	return `$${grouped(Number(whole))}.${cents}`;
}

/** Rounds down, so that 100 % means all. */
function percent(share: number): string {
	return `${Math.floor(100 * share + 1e-9)} %`;
}

function shownName(name: string, by: string): string {
	if (name === "") return "unknown";
	const home = homedir();
	const path =
		by === "project" && name.startsWith(`${home}/`) ? `~${name.slice(home.length)}` : name;
	return plainText(path, 60);
}

function timeOf(ms: number): string {
	const date = new Date(ms);
	const padded = (value: number) => String(value).padStart(2, "0");
	return `${padded(date.getHours())}:${padded(date.getMinutes())}`;
}

/** Figures are aligned to the right, names to the left. */
function aligned(
	rows: readonly (readonly string[])[],
	isName: (column: number) => boolean,
): string[] {
	const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
	const widths = (rows[0] ?? []).map((_, column) => widthOf(column));
	const placed = (cell: string, column: number) => {
		const width = widths[column] ?? 0;
		return isName(column) ? cell.padEnd(width) : cell.padStart(width);
	};
	return rows.map((row) => row.map(placed).join("  ").trimEnd());
}
