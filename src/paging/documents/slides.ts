import { isCodeFont, levelOf } from "./docx-styles.ts";
import { OfficeMath } from "./office-math.ts";
import type { Scope } from "./scope.ts";
import { escapeHtml, plainText, relations, relationsPath, resolvePath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Writes each slide as a heading, its paragraphs, links and tables, the speaker's notes and comments. */
export async function pptxToHtml(zip: ZipArchive, base: string, scope: Scope): Promise<string> {
	const targets = relations(await zip.text(relationsPath(base)));
	const slides: string[] = [];
	visitXml(await zip.text(base), {
		open(name, attribute) {
			const target = name === "sldid" ? targets.get(attribute("r:id")) : undefined;
			if (target) slides.push(resolvePath(base, target));
		},
	});
	const out: string[] = [];
	for (const [i, path] of slides.entries()) {
		const xml = await zip.text(path);
		const links = relations(await zip.text(relationsPath(path)));
		const parts = [slideHtml(xml, links)];
		for (const target of new Set(links.values())) {
			const isNotes = /notesSlide\d+\.xml$/.test(target);
			if (/diagrams\/data\d*\.xml$/.test(target))
				parts.push(slideHtml(await zip.text(resolvePath(path, target)), new Map()));
			if (!isNotes && !/comments\/[^/]+\.xml$/i.test(target)) continue;
			const part = await zip.text(resolvePath(path, target));
			const text = isNotes ? slideHtml(part, new Map(), true) : commentsHtml(part);
			if (text !== "") parts.push(`<p><b>${isNotes ? "Notes" : "Comments"}:</b></p>`, text);
		}
		const isHidden = /<(?:\w+:)?sld\s[^>]*\bshow=["'](?:0|false)/.test(xml.slice(0, MAX_START));
		if (isHidden && !scope.shows("hidden slides", plainText(parts.join("")))) continue;
		out.push(`<h2>Slide ${i + 1}${isHidden ? " (hidden)" : ""}</h2>`, ...parts);
	}
	return out.join("");
}

/** Where the root of a slide and its attributes are. */
const MAX_START = 10_000;

/** Comments of old and of new versions: text in an element of its own, or in paragraphs. */
function commentsHtml(xml: string): string {
	const texts: string[] = [];
	let [text, inText] = ["", false];
	visitXml(xml, {
		open(name) {
			if (name === "text" || name === "t") inText = true;
		},
		text(part) {
			if (inText) text += escapeHtml(part);
		},
		close(name) {
			if (name === "text" || name === "t") inText = false;
			if (name !== "cm" || text === "") return;
			texts.push(`<p>${text}</p>`);
			text = "";
		},
	});
	return texts.join("");
}

function slideHtml(xml: string, links: ReadonlyMap<string, string>, isNotes = false): string {
	return new SlideWriter(links, isNotes).write(xml);
}

interface SlideParagraph {
	readonly html: string[];
	level: number;
	/** The mark that the paragraph names itself; most have the one of their layout, which is not read. */
	mark: "bullet" | "number" | "none" | undefined;
	start: number | undefined;
	hasCode: boolean;
	hasOther: boolean;
}

const newParagraph = (): SlideParagraph => ({
	...{ html: [], level: 0, mark: undefined, start: undefined },
	...{ hasCode: false, hasOther: false },
});

class SlideWriter {
	readonly #links: ReadonlyMap<string, string>;
	readonly #isNotes: boolean;
	readonly #out: string[] = [];
	#paragraph = newParagraph();
	readonly #lists: { level: number; tag: "ol" | "ul" }[] = [];
	#math: OfficeMath | undefined;
	#inText = false;
	#isTitle = false;
	#isSkipped = false;
	#isCode = false;
	#cells = 0;
	/** Depth of copies for older programs, which repeat their neighbours. */
	#fallback = 0;
	#link = "";

	constructor(links: ReadonlyMap<string, string>, isNotes: boolean) {
		this.#links = links;
		this.#isNotes = isNotes;
	}

	write(xml: string): string {
		visitXml(xml, {
			open: (name, attribute) => {
				if (this.#math) this.#math.open(name, attribute);
				else this.#open(name, attribute);
			},
			text: (text) => {
				if (this.#math) this.#math.text(text);
				else if (this.#inText && this.#fallback === 0) this.#addText(text);
			},
			close: (name) => {
				if (!this.#math) this.#close(name);
				else if (name !== "omath") this.#math.close(name);
				else this.#endMath(this.#math);
			},
		});
		this.#closeLists(-1);
		return this.#out.join("");
	}

	#open(name: string, attribute: (name: string) => string): void {
		const paragraph = this.#paragraph;
		if (name === "sp" || name === "graphicframe") {
			this.#closeLists(-1);
			[this.#isTitle, this.#isSkipped] = [false, false];
		} else if (name === "fallback") this.#fallback++;
		else if (name === "ph") {
			const type = attribute("type");
			this.#isTitle = type === "title" || type === "ctrTitle";
			const isOnEverySlide = /^(?:sldNum|dt|ftr|sldImg)$/.test(type);
			this.#isSkipped = isOnEverySlide || (this.#isNotes && type !== "body");
		} else if (name === "omath") this.#math = new OfficeMath();
		else if (name === "t") this.#inText = true;
		else if (name === "r") [this.#link, this.#isCode] = ["", false];
		else if (name === "latin") this.#isCode ||= isCodeFont(attribute("typeface"));
		else if (name === "hlinkclick") {
			const target = this.#links.get(attribute("r:id")) ?? "";
			this.#link = /^(?:https?|mailto|ftp):/i.test(target) ? target : "";
		} else if (name === "ppr") paragraph.level = levelOf(attribute("lvl"));
		else if (name === "buchar" || name === "bublip") paragraph.mark = "bullet";
		else if (name === "bunone") paragraph.mark = "none";
		else if (name === "buautonum") {
			paragraph.mark = "number";
			paragraph.start = Number(attribute("startat")) || undefined;
		} else if (name === "br") paragraph.html.push("<br>");
		else if (name === "tbl") this.#out.push("<table>");
		else if (name === "tr") this.#out.push("<tr>");
		else if (name === "tc") {
			this.#cells++;
			this.#out.push("<td>");
		}
	}

	#addText(text: string): void {
		const paragraph = this.#paragraph;
		if (this.#isCode) paragraph.hasCode = true;
		else if (text.trim() !== "") paragraph.hasOther = true;
		const written = this.#isCode ? `<code>${escapeHtml(text)}</code>` : escapeHtml(text);
		paragraph.html.push(
			this.#link === "" ? written : `<a href="${escapeHtml(this.#link)}">${written}</a>`,
		);
	}

	#endMath({ latex }: OfficeMath): void {
		this.#math = undefined;
		if (latex === "" || this.#fallback > 0) return;
		this.#paragraph.hasOther = true;
		this.#paragraph.html.push(`<math alttext="${escapeHtml(latex)}"></math>`);
	}

	#close(name: string): void {
		if (name === "t") this.#inText = false;
		else if (name === "fallback") this.#fallback = Math.max(0, this.#fallback - 1);
		else if (name === "p") {
			const paragraph = this.#paragraph;
			this.#paragraph = newParagraph();
			this.#endParagraph(paragraph);
		} else if (name === "tbl") this.#out.push("</table>");
		else if (name === "tr") this.#out.push("</tr>");
		else if (name === "tc") {
			this.#cells--;
			this.#closeLists(-1);
			this.#out.push("</td>");
		}
	}

	#endParagraph({ html, level, mark, start, hasCode, hasOther }: SlideParagraph): void {
		const text = html.join("");
		const isAfterCode = this.#out.at(-1) === "</pre>";
		if (this.#isSkipped) return;
		if (text === "") {
			if (isAfterCode) this.#out.splice(-1, 1, "\n", "</pre>"); // a blank line of the code
			return;
		}
		if (this.#isTitle && this.#cells === 0) this.#out.push(`<h3>${text}</h3>`);
		else if (hasCode && !hasOther && this.#cells === 0 && mark !== "number") {
			this.#closeLists(-1);
			if (isAfterCode) this.#out.splice(-1, 1, "\n", text, "</pre>");
			else this.#out.push("<pre>", text, "</pre>");
		} else if (mark === "none" || (mark === undefined && level === 0)) {
			this.#closeLists(-1);
			this.#out.push(`<p>${text}</p>`);
		} else this.#item(text, level, mark === "number" ? (start ?? 1) : undefined);
	}

	#item(text: string, level: number, start: number | undefined): void {
		const tag = start === undefined ? "ul" : "ol";
		const innermost = () => this.#lists.at(-1);
		this.#closeLists(level);
		if (innermost()?.level === level && innermost()?.tag !== tag) this.#closeLists(level - 1);
		if ((innermost()?.level ?? -1) < level) {
			this.#lists.push({ level, tag });
			this.#out.push(start === undefined ? "<ul>" : `<ol start="${start}">`);
		}
		this.#out.push(`<li>${text}`);
	}

	/** Closes the lists that are deeper than this level. */
	#closeLists(level: number): void {
		while ((this.#lists.at(-1)?.level ?? -1) > level)
			this.#out.push(`</${this.#lists.pop()?.tag ?? "ul"}>`);
	}
}
