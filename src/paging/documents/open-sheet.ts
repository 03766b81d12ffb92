import { openStyles } from "./open-styles.ts";
import type { Scope } from "./scope.ts";
import { cellLink, commentList, MAX_COLUMNS, SheetWriter, sheetHeading } from "./sheet.ts";
import { visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Elements whose text is no part of a cell or comment. */
const SILENT = new Set([
	...["sequence-decls", "forms", "script", "date", "date-string"],
	...["creator-initials", "sender-initials"],
]);

/** Where a cell has its value as data, by its type. */
const CELL_VALUES = ["string", "date", "time", "boolean"]
	.map((type) => `office:${type}-value`)
	.concat("office:value");

/** Writes each sheet of an OpenDocument spreadsheet as a heading, a table and its comments. */
export async function odsToMarkdown(zip: ZipArchive, scope: Scope): Promise<string> {
	const parts: string[] = [];
	const xml = await zip.text("content.xml");
	const { hidden } = await openStyles(zip, xml);
	let sheet = new SheetWriter();
	let comments: [cell: string, text: string][] = [];
	let [heading, isHidden, row, column, repeat, rows] = ["", false, 0, 0, 1, 1];
	let [text, comment, inCell, inComment, inSilent] = ["", "", false, false, false];
	let [link, beforeLink] = ["", ""];
	/** The cell's value as data, for programs that write no text. */
	let data = "";
	visitXml(xml, {
		open(name, attribute) {
			if (name === "table") {
				sheet = new SheetWriter();
				comments = [];
				row = 0;
				isHidden = hidden.has(attribute("table:style-name"));
				heading = sheetHeading(attribute("table:name"), isHidden);
			} else if (name === "table-row") {
				column = 0;
				rows = Math.max(1, Number(attribute("table:number-rows-repeated")) || 1);
			} else if (name === "annotation") [comment, inComment] = ["", true];
			else if (name === "a" && inCell && !inComment && link === "") {
				link = /^(?:https?|ftp|mailto):/i.test(attribute("xlink:href"))
					? attribute("xlink:href")
					: "";
				if (link !== "") [beforeLink, text] = [text, ""];
			} else if (name === "creator" || SILENT.has(name)) inSilent = true;
			else if (name === "line-break" || name === "tab" || name === "s") text += " ";
			else if (name === "table-cell" || name === "covered-table-cell") {
				repeat = Math.max(1, Number(attribute("table:number-columns-repeated")) || 1);
				[text, link] = ["", ""];
				data = CELL_VALUES.map(attribute).find((value) => value !== "") ?? "";
				inCell = true;
			}
		},
		text(part) {
			if (!inCell || inSilent) return;
			if (inComment) comment += part;
			else text += part;
		},
		close(name) {
			if (name === "annotation") {
				inComment = false;
				comments.push([`${columnName(column)}${row + 1}`, comment]);
			} else if (name === "creator" || SILENT.has(name)) inSilent = false;
			else if (name === "a" && link !== "") {
				text = beforeLink + cellLink(text, link);
				link = "";
			} else if (name === "p" && inComment) comment += " ";
			else if (name === "p" && inCell) text += " ";
			else if (name === "table-cell" || name === "covered-table-cell") {
				const value = text.trim() || data;
				if (value !== "")
					for (let i = 0; i < Math.min(repeat, MAX_COLUMNS + 1); i++) sheet.cell(column + i, value);
				column += repeat;
				inCell = false;
			} else if (name === "table-row") {
				sheet.endRow(rows);
				row += rows;
			} else if (name === "table") {
				const table = sheet.finish();
				const list = commentList(comments);
				if (isHidden && !scope.shows("hidden sheets", table + list)) return;
				parts.push(heading, table === "" ? "(empty)" : table, ...(list === "" ? [] : [list]));
			}
		},
	});
	return parts.join("\n\n");
}

/** The letters of a column, which counts from 0: 27 is `AB`. */
function columnName(column: number): string {
	const rest = Math.floor(column / 26);
	return (rest > 0 ? columnName(rest - 1) : "") + String.fromCharCode(65 + (column % 26));
}
