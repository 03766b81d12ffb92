import type { Data } from "../../../protocol/index.ts";
import { type CsvValue, csvDollars } from "../../../text/csv.ts";

type Row = Data<"UsageRow">;
export type Grouping = "day" | "project" | "model" | "agent";

/** Rows of the same day, project, model or agent, added up. */
export interface UsageGroup
	extends Pick<Row, "requests" | "unpriced" | "read" | "write" | "input" | "output" | "misses"> {
	/** Empty for an unknown project. */
	readonly name: string;
	/** Of requests with a known price; absent if there is none. */
	readonly dollars?: number;
	readonly missDollars?: number;
}

/** Days the latest first, others the dearest first. */
export function groupUsage(rows: readonly Row[], by: Grouping): UsageGroup[] {
	const groups = [...Map.groupBy(rows, (row) => row[by])].map(([name, own]) =>
		usageTotal(own, name),
	);
	if (by === "day") return groups.sort((a, b) => (a.name < b.name ? 1 : -1));
	return groups.sort((a, b) => (b.dollars ?? 0) - (a.dollars ?? 0) || b.requests - a.requests);
}

export function usageTotal(rows: readonly Row[], name = ""): UsageGroup {
	const sum = (pick: (row: Row) => number | undefined) =>
		rows.reduce((total, row) => total + (pick(row) ?? 0), 0);
	const isPriced = rows.some(({ dollars }) => dollars !== undefined);
	const hasLoss = rows.some(({ missDollars }) => missDollars !== undefined);
	return {
		name,
		requests: sum(({ requests }) => requests),
		unpriced: sum(({ unpriced }) => unpriced),
		read: sum(({ read }) => read),
		write: sum(({ write }) => write),
		input: sum(({ input }) => input),
		output: sum(({ output }) => output),
		misses: sum(({ misses }) => misses),
		...(isPriced && { dollars: sum(({ dollars }) => dollars) }),
		...(hasLoss && { missDollars: sum(({ missDollars }) => missDollars) }),
	};
}

const MAX_SERIES = 5;
const MAX_DAYS = 366;
const DAY_MS = 86_400_000;
const COLOURS = [1, 3, 4, 5, 2].map((at) => `--series-${at}`);

/** Dollars of each day by model, the dearest models apart. Days without requests are there, too. */
export function daySeries(rows: readonly Row[]) {
	const last = Math.max(...rows.map(({ day }) => dayNumber(day)));
	const first = Math.max(last - MAX_DAYS + 1, Math.min(...rows.map(({ day }) => dayNumber(day))));
	const numbers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
	const models = groupUsage(rows, "model").filter(({ dollars = 0 }) => dollars > 0);
	const isApart = new Set(models.slice(0, MAX_SERIES).map(({ name }) => name));
	const OTHERS = "other models";
	const names = [...isApart, ...(models.length > MAX_SERIES ? [OTHERS] : [])];
	const values = new Map(names.map((name) => [name, numbers.map(() => 0)]));
	for (const { day, model, dollars = 0 } of rows) {
		const own = values.get(isApart.has(model) ? model : OTHERS);
		const at = dayNumber(day) - first;
		if (own && at >= 0) own[at] = (own[at] ?? 0) + dollars;
	}
	return {
		numbers,
		rows: names.map((name, at) => ({
			name,
			values: values.get(name) ?? [],
			colour: COLOURS[at] ?? "--series-7",
		})),
	};
}

/** Days since 1970, without hours and time zones. */
export function dayNumber(day: string): number {
	return Math.round(Date.parse(`${day}T00:00:00Z`) / DAY_MS);
}

export function dayName(number: number): string {
	return new Date(number * DAY_MS).toISOString().slice(0, 10);
}

/** The fields of `USAGE_COLUMNS`, in its order: the table that `strata usage --csv` prints. */
export function csvRows(rows: readonly Row[]): CsvValue[][] {
	return rows.map((row) => [
		...[row.day, row.agent, row.project, row.model, row.requests, csvDollars(row.dollars)],
		...[row.unpriced, row.input, row.read, row.write, row.output, row.misses],
		csvDollars(row.missDollars),
	]);
}
