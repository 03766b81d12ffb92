import { SheetWriter } from "./sheet.ts";
import { escapeHtml, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Elements of OpenDocument texts as HTML. Others are left out, with their text kept. */
const HTML: Readonly<Record<string, string>> = {
	p: "p",
	list: "ul",
	"list-item": "li",
	table: "table",
	"table-row": "tr",
	"table-cell": "td",
	"covered-table-cell": "td",
};
const SILENT = new Set(["annotation", "tracked-changes", "sequence-decls", "forms", "script"]);

/** Writes an OpenDocument text or presentation as HTML. */
export async function odtToHtml(zip: ZipArchive): Promise<string> {
	const text: string[] = [];
	const notes: string[] = [];
	let out = text;
	const headings: string[] = [];
	let [inBody, silent, slides, citation, inCitation] = [false, 0, 0, "", false];
	visitXml(await zip.text("content.xml"), {
		open(name, attribute) {
			if (name === "body") inBody = true;
			if (!inBody) return;
			if (SILENT.has(name)) silent++;
			else if (name === "note-citation") {
				[citation, inCitation] = ["", true];
				out.push("[^");
			} else if (name === "note-body") {
				out = notes;
				out.push(`<p>[^${citation}]:</p>`);
			} else if (name === "page") out.push(`<h2>Slide ${++slides}</h2>`);
			else if (name === "h") {
				const level = Math.min(6, Math.max(1, Number(attribute("text:outline-level")) || 1));
				headings.push(`h${level}`);
				out.push(`<h${level}>`);
			} else if (name === "a") out.push(`<a href="${escapeHtml(attribute("xlink:href"))}">`);
			else if (name === "s") out.push(" ");
			else if (name === "tab") out.push(" ");
			else if (name === "line-break") out.push("<br>");
			else if (name in HTML) out.push(`<${HTML[name]}>`);
		},
		text(part) {
			if (!inBody || silent > 0) return;
			const written = escapeHtml(part);
			out.push(written);
			if (inCitation) citation += written;
		},
		close(name) {
			if (!inBody) return;
			if (SILENT.has(name)) silent = Math.max(0, silent - 1);
			else if (name === "note-citation") {
				out.push("]");
				inCitation = false;
			} else if (name === "note-body") out = text;
			else if (name === "h") out.push(`</${headings.pop() ?? "h1"}>`);
			else if (name === "a") out.push("</a>");
			else if (name in HTML) out.push(`</${HTML[name]}>`);
		},
	});
	return text.join("") + (notes.length > 0 ? `<h2>Notes</h2>${notes.join("")}` : "");
}

/** Cells may say how often they repeat; empty ones repeat thousands of times. */
const MAX_REPEAT = 100;

/** Writes each sheet of an OpenDocument spreadsheet as a heading and a table. */
export async function odsToMarkdown(zip: ZipArchive): Promise<string> {
	const parts: string[] = [];
	let sheet = new SheetWriter();
	let [column, repeat, rows, text, inCell, notes] = [0, 1, 1, "", false, 0];
	visitXml(await zip.text("content.xml"), {
		open(name, attribute) {
			if (name === "table") {
				sheet = new SheetWriter();
				parts.push(`## ${attribute("table:name").replace(/\s+/g, " ").slice(0, 100)}`);
			} else if (name === "table-row") {
				column = 0;
				rows = Math.max(1, Number(attribute("table:number-rows-repeated")) || 1);
			} else if (name === "annotation") notes++;
			else if (name === "line-break" || name === "tab" || name === "s") text += " ";
			else if (name === "table-cell" || name === "covered-table-cell") {
				repeat = Math.max(1, Number(attribute("table:number-columns-repeated")) || 1);
				text = "";
				inCell = true;
			}
		},
		text(part) {
			if (inCell && notes === 0) text += part;
		},
		close(name) {
			if (name === "annotation") notes = Math.max(0, notes - 1);
			else if (name === "p" && inCell) text += " ";
			else if (name === "table-cell" || name === "covered-table-cell") {
				const value = text.trim();
				if (value !== "")
					for (let i = 0; i < Math.min(repeat, MAX_REPEAT); i++) sheet.cell(column + i, value);
				column += repeat;
				inCell = false;
			} else if (name === "table-row") sheet.endRow(rows);
			else if (name === "table") {
				const table = sheet.finish();
				parts.push(table === "" ? "(empty)" : table);
			}
		},
	});
	return parts.join("\n\n");
}
