import {
	isCodeFont,
	isOn,
	ListNumbers,
	levelOf,
	listLevels,
	type Style,
	stylesOf,
} from "./docx-styles.ts";
import { OfficeMath } from "./office-math.ts";
import type { Scope } from "./scope.ts";
import { symbolOf } from "./symbols.ts";
import { escapeHtml, relations, relationsPath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Writes a Word document as HTML: headings, lists, tables, links, notes and comments. */
export async function docxToHtml(zip: ZipArchive, path: string, scope: Scope): Promise<string> {
	// Each part has relations of its own, with the same ids.
	const linksOf = async (part: string) => relations(await zip.text(relationsPath(part)));
	const links = await linksOf(path);
	const styles = stylesOf(await zip.text("word/styles.xml"));
	const lists = listLevels(await zip.text("word/numbering.xml"));
	const shared = { styles, scope };
	const numbers = new ListNumbers(lists);
	const body = new BodyWriter({ ...shared, links, numbers }).write(await zip.text(path));
	const notes: string[] = [];
	for (const part of ["footnotes", "endnotes", "comments"]) {
		if (!zip.has(`word/${part}.xml`)) continue;
		const own = { links: await linksOf(`word/${part}.xml`), numbers: new ListNumbers(lists) };
		const text = new BodyWriter({ ...shared, ...own }).write(await zip.text(`word/${part}.xml`));
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
	readonly styles: ReadonlyMap<string, Style>;
	readonly numbers: ListNumbers;
	readonly scope: Scope;
}

/** A paragraph that is being read. */
class Paragraph {
	readonly html: string[] = [];
	style: Style | undefined;
	/** Level and number of its list, as far as the paragraph names them itself. */
	level: number | undefined;
	list: string | undefined;
	hasCode = false;
	hasOther = false;
	/** The marks of the last run, which may go on in the next one. */
	marks = "";
}

class BodyWriter {
	readonly #context: Context;
	readonly #out: string[] = [];
	#paragraph = new Paragraph();
	/** Paragraphs around the current one, which is in a text box. */
	readonly #outer: Paragraph[] = [];
	/** Depth of copies for older programs. */
	#fallback = 0;
	#openLists: boolean[] = [];
	#cells = 0;
	#isDeleted = 0;
	/** Moved text is shown where it is now. */
	#isMoved = 0;
	/** In properties from before a tracked change. */
	#isOld = false;
	#inText = false;
	#inRunProperties = false;
	#run = new Run();
	/** Fields that are open: their instructions, until their results begin, and whether they are links. */
	readonly #fields: { instruction: string; isLink: boolean }[] = [];
	#inInstruction = false;
	#math: OfficeMath | undefined;
	#isDisplayed = false;
	/** Pieces of the paragraph before the reading aid of a word, and that aid. */
	#aidFrom = 0;
	#aid: string[] = [];

	constructor(context: Context) {
		this.#context = context;
	}

	write(xml: string): string {
		visitXml(xml, {
			open: (name, attribute) => {
				if (this.#math) this.#math.open(name, attribute);
				else this.#open(name, attribute);
			},
			close: (name) => {
				if (!this.#math) this.#close(name);
				else if (name !== "omath") this.#math.close(name);
				else this.#endMath(this.#math);
			},
			text: (text) => {
				if (this.#math) this.#math.text(text);
				else if (this.#inText) this.#addText(text);
				else if (this.#inInstruction) this.#addInstruction(text);
			},
		});
		this.#closeLists(0);
		return this.#out.join("");
	}

	#addText(text: string): void {
		if (!this.#isShown(text)) return;
		const run = this.#run;
		const paragraph = this.#paragraph;
		if (text.trim() !== "") {
			if (run.isCode) paragraph.hasCode = true;
			else paragraph.hasOther = true;
		}
		const marks = run.marks(this.#isDeleted > 0);
		const close = marks.map((mark) => `</${mark}>`).toReversed();
		const key = close.join("");
		// Word cuts sentences into runs for reasons of its own.
		const continues = key !== "" && paragraph.marks === key && paragraph.html.at(-1) === key;
		if (continues) paragraph.html.pop();
		else paragraph.html.push(marks.map((mark) => `<${mark}>`).join(""));
		paragraph.html.push(escapeHtml(text), key);
		paragraph.marks = key;
	}

	/** Whether text is to be written here; if not, it is counted as left out. */
	#isShown(text: string): boolean {
		if (this.#isMoved > 0 || this.#fallback > 0) return false;
		const { scope } = this.#context;
		if (this.#isDeleted > 0 && !scope.shows("deleted text", text)) return false;
		return !this.#run.isHidden || scope.shows("hidden text", text);
	}

	#endMath(math: OfficeMath): void {
		this.#math = undefined;
		const { latex } = math;
		if (latex === "" || !this.#isShown(latex)) return;
		this.#paragraph.hasOther = true;
		const display = this.#isDisplayed ? ' display="block"' : "";
		this.#paragraph.html.push(`<math alttext="${escapeHtml(latex)}"${display}></math>`);
	}

	#addInstruction(text: string): void {
		const field = this.#fields.at(-1);
		if (field && field.instruction.length < MAX_INSTRUCTION) field.instruction += text;
	}

	/** The link of a field such as `HYPERLINK "https://…"` begins with its result. */
	#startResult(): void {
		const field = this.#fields.at(-1);
		if (!field || field.isLink) return;
		const target = FIELD_LINK.exec(field.instruction)?.[1];
		if (target === undefined) return;
		field.isLink = true;
		this.#paragraph.html.push(`<a href="${escapeHtml(target)}">`);
	}

	#endField(): void {
		if (this.#fields.pop()?.isLink) this.#paragraph.html.push("</a>");
	}

	#open(name: string, attribute: (name: string) => string): void {
		switch (name) {
			case "fallback":
				this.#fallback++;
				return;
			case "p":
				this.#outer.push(this.#paragraph);
				this.#paragraph = new Paragraph();
				return;
			case "omathpara":
				this.#isDisplayed = true;
				return;
			case "omath":
				this.#math = new OfficeMath();
				return;
			case "pprchange":
				this.#isOld = true;
				return;
			case "pstyle":
				if (!this.#isOld) this.#paragraph.style = this.#context.styles.get(attribute("w:val"));
				return;
			case "ilvl":
				if (!this.#isOld) this.#paragraph.level = levelOf(attribute("w:val"));
				return;
			case "numid":
				if (!this.#isOld) this.#paragraph.list = attribute("w:val");
				return;
			case "r":
				this.#run = new Run();
				return;
			case "rpr":
				this.#inRunProperties = true;
				return;
			case "rstyle":
				this.#run.isCode ||= this.#context.styles.get(attribute("w:val"))?.isCode === true;
				return;
			case "vanish":
			case "b":
			case "i":
			case "strike":
			case "vertalign":
			case "rfonts":
				if (this.#inRunProperties) this.#run.set(name, attribute);
				return;
			case "fldchar": {
				const type = attribute("w:fldchartype");
				if (type === "begin") this.#fields.push({ instruction: "", isLink: false });
				else if (type === "separate") this.#startResult();
				else if (type === "end") this.#endField();
				return;
			}
			case "fldsimple":
				this.#fields.push({ instruction: attribute("w:instr"), isLink: false });
				this.#startResult();
				return;
			case "instrtext":
				this.#inInstruction = true;
				return;
			case "sym":
				this.#addText(symbolOf(attribute("w:font"), attribute("w:char")));
				return;
			case "rt":
				this.#aidFrom = this.#paragraph.html.length;
				return;
			case "t":
			case "deltext":
				this.#inText = true;
				return;
			case "tab":
				if (!this.#inRunProperties) this.#paragraph.html.push("\t");
				return;
			case "nobreakhyphen":
				this.#addText("-");
				return;
			case "br":
			case "cr":
				this.#paragraph.html.push("<br>");
				return;
			case "del":
				this.#isDeleted++;
				return;
			case "movefrom":
				this.#isMoved++;
				return;
			case "hyperlink": {
				const target = this.#context.links.get(attribute("r:id")) ?? "";
				this.#paragraph.html.push(target === "" ? "<a>" : `<a href="${escapeHtml(target)}">`);
				return;
			}
			case "footnotereference":
				this.#paragraph.html.push(`[^${escapeHtml(attribute("w:id"))}]`);
				return;
			case "endnotereference":
				this.#paragraph.html.push(`[^e${escapeHtml(attribute("w:id"))}]`);
				return;
			case "commentreference":
				this.#paragraph.html.push(`[comment ${escapeHtml(attribute("w:id"))}]`);
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
				this.#cells++;
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
			case "instrtext":
				this.#inInstruction = false;
				return;
			case "fldsimple":
				this.#endField();
				return;
			case "omathpara":
				this.#isDisplayed = false;
				return;
			case "rt":
				this.#aid = this.#paragraph.html.splice(this.#aidFrom);
				return;
			case "rubybase":
				if (this.#aid.length > 0) this.#paragraph.html.push("(", ...this.#aid, ")");
				this.#aid = [];
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
				this.#paragraph.html.push("</a>");
				return;
			case "p":
				this.#endParagraph(this.#paragraph);
				this.#paragraph = this.#outer.pop() ?? new Paragraph();
				return;
			case "tbl":
				this.#closeLists(0);
				this.#out.push("</table>");
				return;
			case "tr":
				this.#out.push("</tr>");
				return;
			case "tc":
				this.#cells = Math.max(0, this.#cells - 1);
				this.#closeLists(0);
				this.#out.push("</td>");
		}
	}

	#endParagraph(paragraph: Paragraph): void {
		const text = paragraph.html.join("");
		const isAfterCode = this.#out.at(-1) === "</pre>";
		if (text === "") {
			if (isAfterCode) this.#out.splice(-1, 1, "\n", "</pre>"); // a blank line of the code
			return;
		}
		const heading = paragraph.style?.heading ?? 0;
		const id = paragraph.list ?? paragraph.style?.list ?? "0";
		const level = paragraph.level ?? paragraph.style?.level ?? 0;
		const isListed = id !== "0" || (paragraph.level !== undefined && paragraph.list === undefined);
		const item = isListed ? this.#context.numbers.next(id, level) : undefined;
		if (heading > 0) {
			this.#closeLists(0);
			const label = item?.label ? `${escapeHtml(item.label)} ` : "";
			this.#out.push(`<h${heading}>${label}${text}</h${heading}>`);
		} else if (item === undefined) {
			this.#closeLists(0);
			const isCode = paragraph.style?.isCode || (paragraph.hasCode && !paragraph.hasOther);
			if (!isCode || this.#cells > 0) this.#out.push(`<p>${text}</p>`);
			else if (isAfterCode) this.#out.splice(-1, 1, "\n", text, "</pre>");
			else this.#out.push("<pre>", text, "</pre>");
		} else if (item.isUnmarked) {
			this.#closeLists(level + 1);
			this.#out.push(`<p>${text}</p>`);
		} else this.#item(text, level, item.number);
	}

	#item(text: string, level: number, number: number | undefined): void {
		const isNumbered = number !== undefined;
		const isSame = this.#openLists[level] === isNumbered;
		this.#closeLists(isSame ? level + 1 : level);
		while (this.#openLists.length <= level) {
			this.#openLists.push(isNumbered);
			this.#out.push(isNumbered ? "<ol>" : "<ul>");
		}
		this.#out.push(isNumbered ? `<li value="${number}">${text}` : `<li>${text}`);
	}

	#closeLists(depth: number): void {
		while (this.#openLists.length > depth)
			this.#out.push(this.#openLists.pop() ? "</ol>" : "</ul>");
	}
}

/** Instructions of fields beyond this length are cut. */
const MAX_INSTRUCTION = 5000;
const FIELD_LINK = /^\s*HYPERLINK\s+"((?:https?|ftp|mailto):[^"]+)"/i;

/** How the text of a run looks. */
class Run {
	isHidden = false;
	isCode = false;
	readonly #marks = new Set<string>();

	set(property: string, attribute: (name: string) => string): void {
		const value = attribute("w:val");
		if (property === "vanish") this.isHidden = isOn(value);
		else if (property === "rfonts") this.isCode ||= isCodeFont(attribute("w:ascii"));
		else if (property === "vertalign") {
			if (value === "superscript") this.#marks.add("sup");
			else if (value === "subscript") this.#marks.add("sub");
		} else if (isOn(value)) this.#marks.add(property === "strike" ? "s" : property);
	}

	/** The names of the elements around the text, from the outermost on. */
	marks(isDeleted: boolean): string[] {
		return [...(isDeleted ? ["del"] : []), ...this.#marks, ...(this.isCode ? ["code"] : [])];
	}
}
