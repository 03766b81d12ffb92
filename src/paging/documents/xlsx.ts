import { decodeEntities } from "../extract/entities.ts";
import type { Scope } from "./scope.ts";
import { commentList, SheetWriter, sheetHeading } from "./sheet.ts";
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
	const formats = timeStyles(await zip.text("xl/styles.xml"));
	const parts: string[] = [];
	for (const { name, path, isHidden } of sheets) {
		const table = sheetTable(await zip.text(path), { strings, formats, startsIn1904 });
		const comments = await sheetComments(zip, path);
		if (isHidden && !scope.shows("hidden sheets", table + comments)) continue;
		const nothing = zip.has(path) ? "(empty)" : "[This sheet is missing in the file.]";
		parts.push(sheetHeading(name, isHidden), table === "" ? nothing : table);
		if (comments !== "") parts.push(comments);
	}
	return parts.join("\n\n");
}

/** The comments of a sheet with their cells. New versions keep a copy for old ones, which is passed over. */
async function sheetComments(zip: ZipArchive, path: string): Promise<string> {
	const targets = [...relations(await zip.text(relationsPath(path))).values()];
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

/** A point in time, or a span of hours that may be longer than a day. */
type TimeFormat = "date" | "span";

interface Book {
	readonly strings: readonly string[];
	readonly formats: ReadonlyMap<number, TimeFormat>;
	readonly startsIn1904: boolean;
}

/**
 * Scans the cells by hand: a sheet has millions of tags, and only four names matter. Text of any other element is
 * passed over, and so are prefixes of names, which few programs write.
 */
function sheetTable(xml: string, { strings, formats, startsIn1904 }: Book): string {
	const sheet = new SheetWriter();
	let [type, style, column, next] = ["", 0, 0, 0];
	let value = "";
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
			if (isEnd) sheet.cell(column, cellValue());
			if (isEnd || isEmpty) continue;
			type = /\bt=["'](\w*)/.exec(attributes)?.[1] ?? "";
			style = Number(/\bs=["'](\d*)/.exec(attributes)?.[1] ?? 0);
			column = columnOf(/\br=["'](\w*)/.exec(attributes)?.[1] ?? "") ?? next;
			next = column + 1;
			value = "";
		} else if ((name === "v" || name === "t") && !isEnd && !isEmpty) {
			const content = textAt(xml, at);
			value += content.text;
			at = content.end;
		}
	}
	return sheet.finish();

	function cellValue(): string {
		if (type === "s") return strings[Number(value)] ?? "";
		if (type === "b") return value === "1" ? "TRUE" : value === "" ? "" : "FALSE";
		const format = type === "" || type === "n" ? formats.get(style) : undefined;
		if (format === undefined || value === "") return value;
		const number = Number(value);
		return (format === "span" ? spanOf(number) : dateOf(number, startsIn1904)) ?? value;
	}
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
			else if (name === "si") strings.push(text);
		},
	});
	return strings;
}

const EAST_ASIAN_DATES = [
	27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58,
];

/** The cell styles whose number format is a date or a time. */
function timeStyles(xml: string): Map<number, TimeFormat> {
	// Those from 27 to 36 and from 50 to 58 are dates and times of East Asian versions.
	const dates = [14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 47, ...EAST_ASIAN_DATES];
	const formats = new Map<number, TimeFormat>(dates.map((id) => [id, "date"]));
	formats.set(46, "span");
	const styles = new Map<number, TimeFormat>();
	let [inCells, count] = [false, 0];
	visitXml(xml, {
		open(name, attribute) {
			if (name === "numfmt") {
				const code = attribute("formatcode").replace(/"[^"]*"|\\./g, "");
				const id = Number(attribute("numfmtid"));
				const plain = code.replace(/\[[^\]]*\]|(?<=s)\.0+/gi, "");
				if (/\[(?:h+|m+|s+)\]/i.test(code)) formats.set(id, "span");
				else if (/[ymdhs]/i.test(plain) && !/[0#]/.test(plain)) formats.set(id, "date");
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
