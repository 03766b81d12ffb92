import { type CsvValue, csvLines } from "../../text/csv.ts";

/** Lets the browser save a table as a CSV file. */
export function downloadCsv(
	name: string,
	head: readonly string[],
	rows: readonly (readonly CsvValue[])[],
): void {
	const text = `${csvLines(head, rows).join("\r\n")}\r\n`;
	const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
	const link = document.createElement("a");
	link.href = address;
	link.download = `${name}.csv`;
	link.click();
	// The browser has taken the file when the click is handled.
	setTimeout(() => URL.revokeObjectURL(address));
}
