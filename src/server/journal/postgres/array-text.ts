/**
 * Columns of rows as texts of PostgreSQL's arrays. `pg` makes the same of lists, with more work for each element, and
 * the writing statement has dozens of columns.
 */

/** Numbers, truth values and UUIDs, which need no quotes. */
export function plainArray<Row>(
	rows: readonly Row[],
	of: (row: Row) => number | string | boolean | null,
): string {
	let text = "";
	for (const row of rows) text += `${text === "" ? "" : ","}${of(row) ?? "NULL"}`;
	return `{${text}}`;
}

export function textArray<Row>(rows: readonly Row[], of: (row: Row) => string | null): string {
	let text = "";
	for (const row of rows) {
		const value = of(row);
		if (text !== "") text += ",";
		text += value === null ? "NULL" : `"${escaped(value)}"`;
	}
	return `{${text}}`;
}

export function bytesArray<Row>(rows: readonly Row[], of: (row: Row) => Buffer | null): string {
	let text = "";
	for (const row of rows) {
		const value = of(row);
		if (text !== "") text += ",";
		text += value === null ? "NULL" : `"\\\\x${value.toString("hex")}"`;
	}
	return `{${text}}`;
}

function escaped(text: string): string {
	const isPlain = !text.includes('"') && !text.includes("\\");
	return isPlain ? text : text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}
