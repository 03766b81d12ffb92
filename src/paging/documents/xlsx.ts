import { decodeEntities } from "../extract/entities.ts";
import { stripControls } from "../extract/inline-text.ts";
import type { Scope } from "./scope.ts";
import { cellLink, cellText, commentList, SheetWriter, sheetHeading } from "./sheet.ts";
import { relations, relationsPath, resolvePath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Writes each sheet of a workbook as a heading, a table and its comments. Formulas are shown by their last value. */
export async function xlsxToMarkdown(zip: ZipArchive, base: string, scope: Scope): Promise<string> {
	const workbook = await zip.text(base);
	const targets = relations(await zip.text(relationsPath(base)));
	const sheets: { name: string; path: string; isHidden: boolean }[] = [];
	let startsIn1904 = false;
	visitXml(workbook, {
		open(name, attribute) {
			if (name === "workbookpr") startsIn1904 = /^(?:1|true)$/.test(attribute("date1904"));
			if (name !== "sheet") return;
			const path = resolvePath(base, targets.get(attribute("r:id")) ?? "");
			const isHidden = /hidden$/i.test(attribute("state"));
			sheets.push({ name: attribute("name"), path, isHidden });
		},
	});
	const strings = sharedStrings(await zip.text("xl/sharedStrings.xml"));
	const formats = valueStyles(await zip.text("xl/styles.xml"));
	const parts: string[] = [];
	for (const { name, path, isHidden } of sheets) {
		const xml = await zip.text(path);
		const related = relations(await zip.text(relationsPath(path)));
		const table = sheetTable(xml, {
			strings,
			formats,
			startsIn1904,
			links: cellLinks(xml, related),
		});
		const comments = await sheetComments(zip, path, related);
		const boxes = await textBoxes(zip, path, related);
		if (isHidden && !scope.shows("hidden sheets", table + comments + boxes)) continue;
		const isChart = path.includes("chartsheets/");
		const nothing = isChart ? "(a chart)" : boxes === "" ? "(empty)" : "";
		const shown = zip.has(path) ? table || nothing : "[This sheet is missing in the file.]";
		parts.push(sheetHeading(name, isHidden), shown, boxes, comments);
	}
	return parts.filter((part) => part !== "").join("\n\n");
}

type Relations = ReadonlyMap<string, string>;

/** The addresses that cells link to, by the cell. They stand after the cells. */
function cellLinks(xml: string, related: Relations): Map<string, string> {
	const links = new Map<string, string>();
	const from = xml.lastIndexOf("</sheetData>");
	if (from === -1 || !xml.includes("hyperlink", from)) return links;
	visitXml(xml.slice(from), {
		open(name, attribute) {
			const target = name === "hyperlink" ? (related.get(attribute("r:id")) ?? "") : "";
			const cell = attribute("ref").split(":", 1)[0] ?? "";
			if (/^(?:https?|ftp|mailto):/i.test(target)) links.set(cell, target);
		},
	});
	return links;
}

/** The text of boxes and shapes that lie on a sheet. */
async function textBoxes(zip: ZipArchive, path: string, related: Relations): Promise<string> {
	const drawings = [...new Set(related.values())].filter((target) =>
		/drawings\/[^/]+\.xml$/.test(target),
	);
	const texts: string[] = [];
	for (const target of drawings) {
		let [text, inText] = ["", false];
		visitXml(await zip.text(resolvePath(path, target)), {
			open(name) {
				if (name === "txbody") text = "";
				else if (name === "t") inText = true;
				else if (name === "br") text += " ";
			},
			text(part) {
				if (inText) text += part;
			},
			close(name) {
				if (name === "t") inText = false;
				else if (name === "p") text += " ";
				else if (name === "txbody" && text.trim() !== "") texts.push(`- ${cellText(text)}`);
			},
		});
	}
	return texts.length === 0 ? "" : ["Text boxes:", "", ...texts].join("\n");
}

/** The comments of a sheet with their cells. New versions keep a copy for old ones, which is passed over. */
async function sheetComments(zip: ZipArchive, path: string, related: Relations): Promise<string> {
	const targets = [...related.values()];
	const threaded = targets.filter((target) => /threadedComment/i.test(target));
	const plain = targets.filter((target) => /comments[^/]*\.xml$/i.test(target));
	const comments: [cell: string, text: string][] = [];
	for (const target of threaded.length > 0 ? threaded : plain) {
		let [cell, text, inText] = ["", "", 0];
		visitXml(await zip.text(resolvePath(path, target)), {
			open(name, attribute) {
				if (/^(?:threaded)?comment$/.test(name)) [cell, text] = [attribute("ref"), ""];
				else if (name === "text") inText++;
			},
			text(part) {
				if (inText > 0) text += part;
			},
			close(name) {
				if (name === "text") inText--;
				else if (/^(?:threaded)?comment$/.test(name)) comments.push([cell, text]);
			},
		});
	}
	return commentList(comments);
}

/** A point in time, a span of hours that may be longer than a day, or a share of a hundred. */
type ValueFormat = "date" | "span" | "percent";

interface Book {
	readonly strings: readonly string[];
	readonly formats: ReadonlyMap<number, ValueFormat>;
	readonly startsIn1904: boolean;
	readonly links: ReadonlyMap<string, string>;
}

/**
 * Scans the cells by hand: a sheet has millions of tags, and only four names matter. Text of any other element is
 * passed over, and so are prefixes of names, which few programs write.
 */
function sheetTable(xml: string, { strings, formats, startsIn1904, links }: Book): string {
	const sheet = new SheetWriter();
	let [type, style, column, next, reference] = ["", 0, 0, 0, ""];
	let [value, formula, isAid] = ["", "", false];
	for (let at = xml.indexOf("<"); at !== -1 && !sheet.isFull; at = xml.indexOf("<", at)) {
		if (xml.startsWith("<!--", at)) {
			const end = xml.indexOf("-->", at + 4);
			at = end === -1 ? xml.length : end + 3;
			continue;
		}
		const end = xml.indexOf(">", at);
		if (end === -1) break;
		const isEnd = xml.charCodeAt(at + 1) === SLASH;
		const isEmpty = xml.charCodeAt(end - 1) === SLASH;
		const [, name = "", attributes = ""] = TAG.exec(xml.slice(at + (isEnd ? 2 : 1), end)) ?? [];
		at = end + 1;
		if (name === "row") {
			if (isEnd || isEmpty) sheet.endRow();
			else next = 0;
		} else if (name === "c") {
			if (isEnd) sheet.cell(column, linked(cellValue()));
			if (isEnd || isEmpty) continue;
			type = /\bt=["'](\w*)/.exec(attributes)?.[1] ?? "";
			style = Number(/\bs=["'](\d*)/.exec(attributes)?.[1] ?? 0);
			reference = /\br=["'](\w*)/.exec(attributes)?.[1] ?? "";
			column = columnOf(reference) ?? next;
			next = column + 1;
			[value, formula] = ["", ""];
		} else if (name === "rPh") isAid = !isEnd && !isEmpty;
		else if (FORMULA_OR_VALUE.has(name) && !isEnd && !isEmpty) {
			const content = textAt(xml, at);
			at = content.end;
			if (name === "f") formula = content.text;
			else if (!isAid) value += content.text;
		}
	}
	return sheet.finish();

	function linked(text: string): string {
		const address = links.size === 0 ? undefined : links.get(reference);
		return address === undefined ? text : cellLink(text, address);
	}

	function cellValue(): string {
		// Some programs leave the calculation to the one that opens the file.
		if (value === "") return formula === "" ? "" : `=${formula}`;
		if (type === "s") return strings[Number(value)] ?? "";
		if (type === "str" || type === "inlineStr") return unescaped(value);
		if (type === "b") return value === "1" ? "TRUE" : "FALSE";
		if (type !== "" && type !== "n") return value;
		const format = formats.get(style);
		const number = Number(value);
		if (format === undefined) return isLongFraction(value) ? rounded(number, value) : value;
		if (format === "percent") return `${rounded(number * 100, value)}%`;
		return (format === "span" ? spanOf(number) : dateOf(number, startsIn1904)) ?? value;
	}
}

const FORMULA_OR_VALUE = new Set(["f", "v", "t"]);

/** Whole numbers of any length stay as they are: they may be names of something. */
const isLongFraction = (value: string) => value.length > 15 && value.includes(".");

/** Excel computes with 15 digits and stores 17: 0.3 is stored as 0.30000000000000004. */
function rounded(number: number, value: string): string {
	return Number.isFinite(number) ? String(Number(number.toPrecision(15))) : value;
}

/** Excel writes characters that XML does not allow as `_x000D_`, and such a text itself as `_x005F_x000D_`. */
function unescaped(text: string): string {
	if (!text.includes("_x")) return text;
	const plain = text.replace(/_x([0-9a-f]{4})_/gi, (_, code) =>
		String.fromCharCode(Number.parseInt(code, 16)),
	);
	return stripControls(plain.toWellFormed());
}

/** The text up to the next tag, with sections of unescaped text. */
function textAt(xml: string, start: number): { text: string; end: number } {
	let [text, at] = ["", start];
	while (at < xml.length) {
		const isRaw = xml.startsWith(CDATA, at);
		if (!isRaw && xml.charCodeAt(at) === LESS) break;
		const stop = xml.indexOf(isRaw ? "]]>" : "<", at);
		const end = stop === -1 ? xml.length : stop;
		text += isRaw ? xml.slice(at + CDATA.length, end) : decodeEntities(xml.slice(at, end));
		at = isRaw ? end + 3 : end;
	}
	return { text, end: at };
}

const LESS = 0x3c;
const SLASH = 0x2f;
const CDATA = "<![CDATA[";
/** The local name of a tag, and its attributes. */
const TAG = /^(?:\w+:)?(\w+)([\s\S]*)$/;

function columnOf(reference: string): number | undefined {
	const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
	if (letters === undefined) return undefined;
	let column = 0;
	for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
	return column - 1;
}

/** Days since the end of 1899, or since 1904. Excel counts a 29 February 1900 that did not exist. */
function dateOf(days: number, startsIn1904: boolean): string | undefined {
	if (!Number.isFinite(days) || days < 0 || days > 2_958_465) return undefined;
	const shifted = startsIn1904 ? days + 1462 : days < 60 ? days + 1 : days;
	const iso = new Date(Math.round((shifted - 25_569) * 86_400) * 1000).toISOString();
	if (days < 1) return iso.slice(11, 19);
	return days % 1 === 0 ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", " ");
}

/** Days as hours, minutes and seconds. */
function spanOf(days: number): string | undefined {
	const seconds = Math.round(days * 86_400);
	if (!Number.isSafeInteger(seconds) || seconds < 0) return undefined;
	const two = (part: number) => String(part % 60).padStart(2, "0");
	const minutes = Math.floor(seconds / 60);
	return `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

function sharedStrings(xml: string): string[] {
	const strings: string[] = [];
	let [text, inText, isReading] = ["", false, 0];
	visitXml(xml, {
		open(name) {
			if (name === "si") text = "";
			else if (name === "t") inText = isReading === 0;
			else if (name === "rph") isReading++;
		},
		text(part) {
			if (inText) text += part;
		},
		close(name) {
			if (name === "t") inText = false;
			else if (name === "rph") isReading--;
			else if (name === "si") strings.push(unescaped(text));
		},
	});
	return strings;
}

const EAST_ASIAN_DATES = [
	27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58,
];

/** The cell styles whose number format is a date, a time or a share. */
function valueStyles(xml: string): Map<number, ValueFormat> {
	// Those from 27 to 36 and from 50 to 58 are dates and times of East Asian versions.
	const dates = [14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 47, ...EAST_ASIAN_DATES];
	const formats = new Map<number, ValueFormat>(dates.map((id) => [id, "date"]));
	formats.set(46, "span").set(9, "percent").set(10, "percent");
	const styles = new Map<number, ValueFormat>();
	let [inCells, count] = [false, 0];
	visitXml(xml, {
		open(name, attribute) {
			if (name === "numfmt") {
				const code = attribute("formatcode").replace(/"[^"]*"|\\./g, "");
				const id = Number(attribute("numfmtid"));
				const plain = code.replace(/\[[^\]]*\]|(?<=s)\.0+/gi, "");
				if (/\[(?:h+|m+|s+)\]/i.test(code)) formats.set(id, "span");
				else if (/[ymdhs]/i.test(plain) && !/[0#]/.test(plain)) formats.set(id, "date");
				else if (plain.includes("%")) formats.set(id, "percent");
				else formats.delete(id); // the file's own meaning of a built-in number
			} else if (name === "cellxfs") inCells = true;
			else if (name === "xf" && inCells) {
				const format = formats.get(Number(attribute("numfmtid")));
				if (format) styles.set(count, format);
				count++;
			}
		},
		close(name) {
			if (name === "cellxfs") inCells = false;
		},
	});
	return styles;
}
