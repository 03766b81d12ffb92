import type { Scope } from "./scope.ts";
import { commentList, SheetWriter, sheetHeading } from "./sheet.ts";
import { escapeHtml, plainText, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Elements of OpenDocument texts as HTML. Others are left out, with their text kept. */
const HTML: Readonly<Record<string, string>> = {
	p: "p",
	"list-item": "li",
	table: "table",
	"table-row": "tr",
	"table-cell": "td",
	"covered-table-cell": "td",
};
const SILENT = new Set(["sequence-decls", "forms", "script", "date", "date-string"]);

/** An element whose content does not stay where it is; `end` gets what was written in it. */
interface Part {
	readonly name: string;
	readonly outer: string[];
	end(html: string): void;
	/** Elements of the same name that are open inside. */
	inner: number;
}

/** Writes an OpenDocument text or presentation as HTML, with its notes and comments. */
export async function odtToHtml(zip: ZipArchive, scope: Scope): Promise<string> {
	const xml = await zip.text("content.xml");
	const { hidden, numbered } = stylesOf(xml);
	const after = { Notes: [] as string[], Comments: [] as string[], "Deleted text": [] as string[] };
	let out: string[] = [];
	const parts: Part[] = [];
	const headings: string[] = [];
	const lists: { tag: string; style: string }[] = [];
	let [inBody, inHidden, silent, slides] = [false, false, 0, 0];
	let [citation, inCitation, author, inAuthor] = ["", false, "", false];

	const begin = (name: string, end: Part["end"]) => {
		parts.push({ name, outer: out, end, inner: 0 });
		out = [];
	};

	visitXml(xml, {
		open(name, attribute) {
			if (name === "body") inBody = true;
			if (!inBody) return;
			const part = parts.at(-1);
			if (part?.name === name) part.inner++;
			const isHidden =
				hidden.has(attribute(name === "page" ? "draw:style-name" : "text:style-name")) ||
				attribute("text:display") === "none";
			if (SILENT.has(name)) silent++;
			else if (name === "creator") [author, inAuthor] = ["", true];
			else if (name === "annotation")
				begin(name, (html) => {
					const number = after.Comments.length + 1;
					out.push(`[comment ${number}]`);
					after.Comments.push(`<p>${`[comment ${number}] ${author}`.trim()}:</p>${html}`);
					author = "";
				});
			else if (name === "tracked-changes")
				begin(name, (html) => {
					if (scope.shows("deleted text", plainText(html))) after["Deleted text"].push(html);
				});
			else if (name === "note-citation") {
				[citation, inCitation] = ["", true];
				out.push("[^");
			} else if (name === "note-body") {
				const mark = citation;
				begin(name, (html) => after.Notes.push(`<p>[^${mark}]:</p>${html}`));
			} else if (name === "notes") out.push("<p><b>Notes:</b></p>");
			else if (name === "page") {
				if (isHidden)
					begin(name, (html) => {
						if (scope.shows("hidden slides", plainText(html))) out.push(html);
					});
				out.push(`<h2>Slide ${++slides}${isHidden ? " (hidden)" : ""}</h2>`);
			} else if (name === "h") {
				const level = Math.min(6, Math.max(1, Number(attribute("text:outline-level")) || 1));
				headings.push(`h${level}`);
				out.push(`<h${level}>`);
			} else if (name === "a") out.push(`<a href="${escapeHtml(attribute("xlink:href"))}">`);
			else if (name === "s" || name === "tab") out.push(" ");
			else if (name === "line-break") out.push("<br>");
			else if (name === "list") {
				// A list in a list has the style of the outer one, unless it names its own.
				const style = attribute("text:style-name") || (lists.at(-1)?.style ?? "");
				const level = numbered.get(`${style}.${lists.length + 1}`) ?? numbered.get(`${style}.1`);
				const tag = level ? "ol" : "ul";
				lists.push({ tag, style });
				out.push(`<${tag}>`);
			} else if (isHidden && /^(?:section|p|span)$/.test(name) && !inHidden) {
				inHidden = true;
				begin(name, (html) => {
					inHidden = false;
					if (scope.shows("hidden text", plainText(html))) out.push(html);
				});
				if (name in HTML) out.push(`<${HTML[name]}>`);
			} else if (name in HTML) out.push(`<${HTML[name]}>`);
		},
		text(text) {
			if (!inBody || silent > 0) return;
			const written = escapeHtml(text);
			if (inAuthor) author += written;
			else out.push(written);
			if (inCitation) citation += written;
		},
		close(name) {
			if (!inBody) return;
			if (SILENT.has(name)) silent = Math.max(0, silent - 1);
			else if (name === "creator") inAuthor = false;
			else if (name === "note-citation") {
				out.push("]");
				inCitation = false;
			} else if (name === "h") out.push(`</${headings.pop() ?? "h1"}>`);
			else if (name === "a") out.push("</a>");
			else if (name === "list") out.push(`</${lists.pop()?.tag ?? "ul"}>`);
			else if (name in HTML) out.push(`</${HTML[name]}>`);
			const part = parts.at(-1);
			if (part?.name !== name) return;
			if (part.inner > 0) part.inner--;
			else endPart();
		},
	});
	while (parts.length > 0) endPart();
	const more = Object.entries(after).flatMap(([title, texts]) =>
		texts.length > 0 ? [`<h2>${title}</h2>`, ...texts] : [],
	);
	return [...out, ...more].join("");

	function endPart(): void {
		const part = parts.pop();
		if (!part) return;
		const html = out.join("");
		out = part.outer;
		part.end(html);
	}
}

/** The names of styles that hide what has them (a sheet, a slide, a text), and whether a level of a list has numbers, by `<name>.<level>`. */
function stylesOf(xml: string) {
	const [hidden, numbered] = [new Set<string>(), new Map<string, boolean>()];
	let style = "";
	visitXml(xml.slice(0, Math.max(0, xml.indexOf("<office:body"))), {
		open(name, attribute) {
			if (name === "style" || name === "list-style") style = attribute("style:name");
			else if (/^list-level-style-(?:number|bullet|image)$/.test(name))
				numbered.set(`${style}.${attribute("text:level")}`, name.endsWith("number"));
			else if (
				attribute("table:display") === "false" ||
				attribute("presentation:visibility") === "hidden" ||
				attribute("text:display") === "none"
			)
				hidden.add(style);
		},
	});
	hidden.delete("");
	return { hidden, numbered };
}

/** Where a cell has its value as data, by its type. */
const CELL_VALUES = ["string", "date", "time", "boolean"]
	.map((type) => `office:${type}-value`)
	.concat("office:value");

/** Cells may say how often they repeat; empty ones repeat thousands of times. */
const MAX_REPEAT = 100;

/** Writes each sheet of an OpenDocument spreadsheet as a heading, a table and its comments. */
export async function odsToMarkdown(zip: ZipArchive, scope: Scope): Promise<string> {
	const parts: string[] = [];
	const xml = await zip.text("content.xml");
	const { hidden } = stylesOf(xml);
	let sheet = new SheetWriter();
	let comments: [cell: string, text: string][] = [];
	let [heading, isHidden, row, column, repeat, rows] = ["", false, 0, 0, 1, 1];
	let [text, comment, inCell, inComment, inSilent] = ["", "", false, false, false];
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
			else if (name === "creator" || SILENT.has(name)) inSilent = true;
			else if (name === "line-break" || name === "tab" || name === "s") text += " ";
			else if (name === "table-cell" || name === "covered-table-cell") {
				repeat = Math.max(1, Number(attribute("table:number-columns-repeated")) || 1);
				text = "";
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
			else if (name === "p" && inComment) comment += " ";
			else if (name === "p" && inCell) text += " ";
			else if (name === "table-cell" || name === "covered-table-cell") {
				const value = text.trim() || data;
				if (value !== "")
					for (let i = 0; i < Math.min(repeat, MAX_REPEAT); i++) sheet.cell(column + i, value);
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
