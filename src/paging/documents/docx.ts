import type { Scope } from "./scope.ts";
import { escapeHtml, relations, relationsPath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Writes a Word document as HTML: headings, lists, tables, links, notes and comments. */
export async function docxToHtml(zip: ZipArchive, path: string, scope: Scope): Promise<string> {
	// Each part has relations of its own, with the same ids.
	const linksOf = async (part: string) => relations(await zip.text(relationsPath(part)));
	const links = await linksOf(path);
	const styles = paragraphStyles(await zip.text("word/styles.xml"));
	const numbered = numberedLists(await zip.text("word/numbering.xml"));
	const body = new BodyWriter({ links, styles, numbered, scope }).write(await zip.text(path));
	const notes: string[] = [];
	for (const part of ["footnotes", "endnotes", "comments"]) {
		if (!zip.has(`word/${part}.xml`)) continue;
		const context = { links: await linksOf(`word/${part}.xml`), styles, numbered, scope };
		const text = new BodyWriter(context).write(await zip.text(`word/${part}.xml`));
		if (text.replace(/<[^>]*>/g, "").trim() !== "")
			notes.push(`<h2>${part[0]?.toUpperCase()}${part.slice(1)}</h2>${text}`);
	}
	const margins = await marginTexts(zip);
	if (scope.shows("headers and footers", margins.join("")) && margins.length > 0)
		notes.push("<h2>Headers and footers</h2>", ...margins.map((text) => `<p>${text}</p>`));
	return body + notes.join("");
}

/** The texts of headers and footers, which repeat from section to section, each once. */
async function marginTexts(zip: ZipArchive): Promise<string[]> {
	const texts = new Set<string>();
	for (const name of zip.entries.keys()) {
		if (!/^word\/(?:header|footer)\d*\.xml$/.test(name)) continue;
		let [text, inText] = ["", false];
		visitXml(await zip.text(name), {
			open(tag) {
				if (tag === "t") inText = true;
				else if (tag === "tab" || tag === "br") text += " ";
			},
			text(part) {
				if (inText) text += escapeHtml(part);
			},
			close(tag) {
				if (tag === "t") inText = false;
				else if (tag === "p") text += " ";
			},
		});
		if (text.trim() !== "") texts.add(text.trim());
	}
	return [...texts];
}

interface Context {
	readonly links: ReadonlyMap<string, string>;
	readonly styles: ReadonlyMap<string, ParagraphStyle>;
	readonly numbered: ReadonlySet<string>;
	readonly scope: Scope;
}

interface ListPlace {
	readonly level: number;
	/** The list's number; an empty string if it is not known. */
	readonly id: string;
}

interface ParagraphStyle {
	/** 0 for text. */
	readonly heading: number;
	readonly list?: ListPlace | undefined;
}

class BodyWriter {
	readonly #context: Context;
	readonly #out: string[] = [];
	#paragraph: string[] = [];
	#heading = 0;
	#list: ListPlace | undefined;
	/** Paragraphs around the current one, which is in a text box. */
	readonly #outer: { paragraph: string[]; heading: number; list: ListPlace | undefined }[] = [];
	/** Depth of copies for older programs. */
	#fallback = 0;
	#openLists: boolean[] = [];
	#isDeleted = 0;
	/** Moved text is shown where it is now. */
	#isMoved = 0;
	#isHidden = false;
	/** In properties from before a tracked change. */
	#isOld = false;
	#inText = false;
	#isBold = false;
	#isItalic = false;
	#inRunProperties = false;
	#isCode = false;

	constructor(context: Context) {
		this.#context = context;
	}

	write(xml: string): string {
		visitXml(xml, {
			open: (name, attribute) => this.#open(name, attribute),
			close: (name) => this.#close(name),
			text: (text) => {
				if (this.#inText) this.#addText(text);
			},
		});
		this.#closeLists(0);
		return this.#out.join("");
	}

	#addText(text: string): void {
		if (this.#isMoved > 0 || this.#fallback > 0) return;
		const { scope } = this.#context;
		const isDeleted = this.#isDeleted > 0;
		if (isDeleted && !scope.shows("deleted text", text)) return;
		if (this.#isHidden && !scope.shows("hidden text", text)) return;
		const marks = [
			isDeleted ? "del" : "",
			this.#isBold ? "b" : "",
			this.#isItalic ? "i" : "",
			this.#isCode ? "code" : "",
		].filter(Boolean);
		const open = marks.map((mark) => `<${mark}>`).join("");
		const close = marks
			.toReversed()
			.map((mark) => `</${mark}>`)
			.join("");
		this.#paragraph.push(open + escapeHtml(text) + close);
	}

	#open(name: string, attribute: (name: string) => string): void {
		switch (name) {
			case "fallback":
				this.#fallback++;
				return;
			case "p":
				this.#outer.push({
					paragraph: this.#paragraph,
					heading: this.#heading,
					list: this.#list,
				});
				this.#paragraph = [];
				this.#heading = 0;
				this.#list = undefined;
				return;
			case "pprchange":
				this.#isOld = true;
				return;
			case "pstyle": {
				if (this.#isOld) return;
				const style = this.#context.styles.get(attribute("w:val"));
				this.#heading = style?.heading ?? 0;
				this.#list = style?.list;
				return;
			}
			case "ilvl":
				if (this.#isOld) return;
				this.#list = { level: levelOf(attribute("w:val")), id: this.#list?.id ?? "" };
				return;
			case "numid": {
				if (this.#isOld) return;
				const id = attribute("w:val");
				this.#list = id === "0" ? undefined : { level: this.#list?.level ?? 0, id };
				return;
			}
			case "r":
				this.#isBold = false;
				this.#isItalic = false;
				this.#isCode = false;
				this.#isHidden = false;
				return;
			case "vanish":
				if (this.#inRunProperties) this.#isHidden = isOn(attribute("w:val"));
				return;
			case "rpr":
				this.#inRunProperties = true;
				return;
			case "b":
				if (this.#inRunProperties) this.#isBold = isOn(attribute("w:val"));
				return;
			case "i":
				if (this.#inRunProperties) this.#isItalic = isOn(attribute("w:val"));
				return;
			case "rfonts":
				this.#isCode = /courier|consolas|mono/i.test(attribute("w:ascii"));
				return;
			case "t":
			case "deltext":
				this.#inText = true;
				return;
			case "tab":
				if (!this.#inRunProperties) this.#paragraph.push(" ");
				return;
			case "nobreakhyphen":
				this.#addText("-");
				return;
			case "br":
			case "cr":
				this.#paragraph.push("<br>");
				return;
			case "del":
				this.#isDeleted++;
				return;
			case "movefrom":
				this.#isMoved++;
				return;
			case "hyperlink": {
				const target = this.#context.links.get(attribute("r:id")) ?? "";
				this.#paragraph.push(target === "" ? "<a>" : `<a href="${escapeHtml(target)}">`);
				return;
			}
			case "footnotereference":
				this.#paragraph.push(`[^${escapeHtml(attribute("w:id"))}]`);
				return;
			case "endnotereference":
				this.#paragraph.push(`[^e${escapeHtml(attribute("w:id"))}]`);
				return;
			case "commentreference":
				this.#paragraph.push(`[comment ${escapeHtml(attribute("w:id"))}]`);
				return;
			case "comment":
				this.#out.push(
					`<p>${escapeHtml(`[comment ${attribute("w:id")}] ${attribute("w:author")}`.trim())}:</p>`,
				);
				return;
			case "footnote":
			case "endnote":
				// Word's own notes are the lines between text and notes.
				if (/separator|notice/i.test(attribute("w:type"))) return;
				this.#out.push(
					`<p>[^${name === "endnote" ? "e" : ""}${escapeHtml(attribute("w:id"))}]:</p>`,
				);
				return;
			case "tbl":
				this.#closeLists(0);
				this.#out.push("<table>");
				return;
			case "tr":
				this.#out.push("<tr>");
				return;
			case "tc":
				this.#out.push("<td>");
				return;
			case "gridspan":
				this.#out.push(
					this.#out.pop() === "<td>" ? `<td colspan="${Number(attribute("w:val")) || 1}">` : "<td>",
				);
				return;
		}
	}

	#close(name: string): void {
		switch (name) {
			case "t":
			case "deltext":
				this.#inText = false;
				return;
			case "rpr":
				this.#inRunProperties = false;
				return;
			case "pprchange":
				this.#isOld = false;
				return;
			case "fallback":
				this.#fallback = Math.max(0, this.#fallback - 1);
				return;
			case "del":
				this.#isDeleted = Math.max(0, this.#isDeleted - 1);
				return;
			case "movefrom":
				this.#isMoved = Math.max(0, this.#isMoved - 1);
				return;
			case "hyperlink":
				this.#paragraph.push("</a>");
				return;
			case "p": {
				this.#endParagraph();
				const outer = this.#outer.pop();
				this.#paragraph = outer?.paragraph ?? [];
				this.#heading = outer?.heading ?? 0;
				this.#list = outer?.list;
				return;
			}
			case "tbl":
				this.#closeLists(0);
				this.#out.push("</table>");
				return;
			case "tr":
				this.#out.push("</tr>");
				return;
			case "tc":
				this.#closeLists(0);
				this.#out.push("</td>");
		}
	}

	#endParagraph(): void {
		const text = this.#paragraph.join("");
		this.#paragraph = [];
		if (text === "") return;
		const list = this.#heading > 0 ? undefined : this.#list; // a numbered heading is a heading
		if (!list) {
			this.#closeLists(0);
			const tag = this.#heading > 0 ? `h${this.#heading}` : "p";
			this.#out.push(`<${tag}>${text}</${tag}>`);
			return;
		}
		const isNumbered = this.#context.numbered.has(`${list.id}.${list.level}`);
		const isSame = this.#openLists[list.level] === isNumbered;
		this.#closeLists(isSame ? list.level + 1 : list.level);
		while (this.#openLists.length <= list.level) {
			this.#openLists.push(isNumbered);
			this.#out.push(isNumbered ? "<ol>" : "<ul>");
		}
		this.#out.push(`<li>${text}`);
	}

	#closeLists(depth: number): void {
		while (this.#openLists.length > depth)
			this.#out.push(this.#openLists.pop() ? "</ol>" : "</ul>");
	}
}

/** Properties without a value are on. */
function isOn(value: string): boolean {
	return value !== "0" && value !== "false";
}

/** Lists of Word have nine levels. */
function levelOf(value: string): number {
	return Math.min(8, Math.max(0, Math.trunc(Number(value)) || 0));
}

/** The headings and lists of the styles. A style has what it does not say itself from the one that it is based on. */
function paragraphStyles(xml: string): Map<string, ParagraphStyle> {
	const own = new Map<string, { heading?: number; level?: number; id?: string; base?: string }>();
	let style: { heading?: number; level?: number; id?: string; base?: string } = {};
	visitXml(xml, {
		open(name, attribute) {
			const value = attribute("w:val");
			if (name === "style") {
				const id = attribute("w:styleid");
				const heading = HEADINGS.get(id);
				style = heading === undefined ? {} : { heading };
				own.set(id, style);
			} else if (name === "basedon") style.base = value;
			else if (name === "ilvl") style.level = levelOf(value);
			else if (name === "numid") style.id = value;
			else if (name === "outlinelvl") {
				const level = Number(value);
				style.heading = level >= 0 && level < 6 ? level + 1 : 0;
			}
		},
	});
	const styles = new Map<string, ParagraphStyle>();
	for (const [id, heading] of HEADINGS) styles.set(id, { heading });
	for (const name of own.keys()) {
		let { heading, level, id, base } = own.get(name) ?? {};
		for (let depth = 0; base !== undefined && depth < MAX_BASES; depth++) {
			const next = own.get(base);
			heading ??= next?.heading;
			level ??= next?.level;
			id ??= next?.id;
			base = next?.base;
		}
		const list = id === undefined || id === "0" ? undefined : { level: level ?? 0, id };
		styles.set(name, { heading: heading ?? 0, list });
	}
	return styles;
}

/** Styles that a style may be based on, one on the other; they may form a circle. */
const MAX_BASES = 20;

const HEADINGS: ReadonlyMap<string, number> = new Map([
	["Title", 1],
	["Subtitle", 2],
	...[1, 2, 3, 4, 5, 6].map((level) => [`Heading${level}`, level] as const),
]);

/** The lists and levels with numbers, as `<number>.<level>`. */
function numberedLists(xml: string): Set<string> {
	const formats = new Map<string, string>();
	const found = new Set<string>();
	let [list, level, number] = ["", "", ""];
	visitXml(xml, {
		open(name, attribute) {
			if (name === "abstractnum") list = attribute("w:abstractnumid");
			else if (name === "lvl") level = attribute("w:ilvl");
			else if (name === "numfmt") formats.set(`${list}.${level}`, attribute("w:val"));
			else if (name === "num") number = attribute("w:numid");
			else if (name === "abstractnumid") {
				for (let i = 0; i < 9; i++) {
					const format = formats.get(`${attribute("w:val")}.${i}`) ?? "bullet";
					if (format !== "bullet" && format !== "none") found.add(`${number}.${i}`);
				}
			}
		},
	});
	return found;
}
