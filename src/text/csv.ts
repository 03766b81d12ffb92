import { plainText } from "./one-line.ts";

export type CsvValue = string | number | undefined;

/** One line for each row, with a head; fields as in RFC 4180. `undefined` is an empty field. */
export function csvLines(
	head: readonly string[],
	rows: readonly (readonly CsvValue[])[],
): string[] {
	return [head, ...rows].map((row) => row.map(fieldOf).join(","));
}

/** A field that a spreadsheet would run as a formula begins with an apostrophe. */
function fieldOf(value: CsvValue): string {
	if (value === undefined) return "";
	if (typeof value === "number") return String(value);
	const text = plainText(value, 1000);
	const safe = /^[=+\-@]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
	return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Six decimals, as a number that a spreadsheet reads. */
export function csvDollars(dollars: number | undefined): string | undefined {
	return dollars?.toFixed(6);
}

/** What agents' requests cost, by day, agent, project and model. */
export const USAGE_COLUMNS = [
	"day",
	"agent",
	"project",
	"model",
	"requests",
	"dollars",
	"unpriced",
	"input",
	"read",
	"write",
	"output",
	"misses",
	"miss_dollars",
] as const;
