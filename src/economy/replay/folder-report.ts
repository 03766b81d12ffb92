import type { ReplayMiss } from "./misses.ts";
import type { PolicyRow, ReplayReport } from "./report.ts";

/** The sessions of a folder, added up in the shape of one report, and each by itself. */
export interface FolderReport {
	/** The folder. */
	readonly file: string;
	readonly requests: number;
	readonly policies: readonly PolicyRow[];
	readonly misses: readonly (Omit<ReplayMiss, "isTotal"> & { readonly file: string })[];
	readonly skipped: number;
	readonly sessions: readonly Omit<ReplayReport, "chart">[];
	/** Files that could not be replayed, and why. */
	readonly failed: readonly { readonly file: string; readonly reason: string }[];
}

/** Adds up the reports of a folder. All must have been made with the same policies. */
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
