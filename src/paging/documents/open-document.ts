import { OpenLists } from "./open-lists.ts";
import { type Look, openStyles } from "./open-styles.ts";
import type { Scope } from "./scope.ts";
import { escapeHtml, plainText, resolvePath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Elements of OpenDocument texts as HTML. Others are left out, with their text kept. */
const HTML: Readonly<Record<string, string>> = {
	table: "table",
	"table-row": "tr",
	"table-cell": "td",
	"covered-table-cell": "td",
};
const SILENT = new Set([
	...["sequence-decls", "forms", "script", "date", "date-string", "desc", "number"],
	...["creator-initials", "sender-initials"],
]);
/** What a slide shows on every slide: its number, a date. */
const ON_EVERY_SLIDE = /^(?:page-number|date-time|footer|header)$/;

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
	const styles = await openStyles(zip, xml);
	const { hidden } = styles;
	const formulas = await formulasOf(zip);
	const margins = marginTexts(await zip.text("styles.xml"));
	const after = { Notes: [] as string[], Comments: [] as string[], "Deleted text": [] as string[] };
	let out: string[] = [];
	const parts: Part[] = [];
	/** The headings, paragraphs and marked texts that are open. */
	const headings: number[] = [];
	const paragraphs: OpenParagraph[] = [];
	const spans: Look[] = [];
	let codeSpans = 0;
	const lists = new OpenLists(styles);
	let [inBody, inHidden, silent, slides, cells, isTitle] = [false, false, 0, 0, 0, false];
	let [citation, inCitation, author, inAuthor] = ["", false, "", false];

	const begin = (name: string, end: Part["end"]) => {
		// Each part copies what is in it, so that parts in parts must not be many.
		if (parts.at(-1)?.name === name || parts.length >= MAX_PARTS) return;
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
			} else if (name === "notes")
				begin(name, (html) => {
					if (plainText(html).trim() !== "") out.push("<p><b>Notes:</b></p>", html);
				});
			else if (name === "frame") {
				const role = attribute("presentation:class");
				isTitle = role === "title";
				if (ON_EVERY_SLIDE.test(role)) begin(name, () => {});
			} else if (name === "object")
				out.push(formulas.get(objectPath(attribute("xlink:href"))) ?? "");
			else if (name === "page") {
				if (isHidden)
					begin(name, (html) => {
						if (scope.shows("hidden slides", plainText(html))) out.push(html);
					});
				out.push(`<h2>Slide ${++slides}${isHidden ? " (hidden)" : ""}</h2>`);
			} else if (name === "h") {
				const level = Math.min(6, Math.max(1, Number(attribute("text:outline-level")) || 1));
				lists.text();
				headings.push(level);
				out.push(`<h${level}>`);
			} else if (name === "a") out.push(`<a href="${escapeHtml(attribute("xlink:href"))}">`);
			else if (name === "s")
				out.push(" ".repeat(Math.min(MAX_SPACES, Math.max(1, Number(attribute("text:c")) || 1))));
			else if (name === "tab") out.push("\t");
			else if (name === "line-break") out.push("<br>");
			else if (name === "ruby-text") out.push("(");
			else if (name === "list") out.push(lists.open(attribute));
			else if (name === "list-item") out.push(lists.item(attribute));
			else {
				if (isHidden && /^(?:section|p|span)$/.test(name) && !inHidden) {
					inHidden = true;
					begin(name, (html) => {
						inHidden = false;
						if (scope.shows("hidden text", plainText(html))) out.push(html);
					});
				}
				if (name === "p") openParagraph(attribute("text:style-name"));
				else if (name === "span") openSpan(attribute("text:style-name"));
				else if (name in HTML) out.push(`<${HTML[name]}>`);
				if (name === "table-cell") cells++;
			}
		},
		text(text) {
			if (!inBody || silent > 0) return;
			const paragraph = paragraphs.at(-1);
			const isBlank = text.trim() === "";
			if (isBlank && !paragraph && headings.length === 0) return; // between elements
			if (paragraph && !isBlank) {
				if (paragraph.isCode || codeSpans > 0) paragraph.hasCode = true;
				else paragraph.hasOther = true;
			}
			// Spaces that count are elements.
			const written = escapeHtml(text.replace(/\s+/g, " "));
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
			} else if (name === "h") out.push(`</h${headings.pop() ?? 1}>`);
			else if (name === "p") closeParagraph();
			else if (name === "span") closeSpan();
			else if (name === "a") out.push("</a>");
			else if (name === "ruby-text") out.push(")");
			else if (name === "list") out.push(lists.close());
			else if (name === "list-item") out.push("</li>");
			else if (name in HTML) out.push(`</${HTML[name]}>`);
			if (name === "table-cell") cells = Math.max(0, cells - 1);
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
	if (scope.shows("headers and footers", margins.join("")) && margins.length > 0)
		more.push("<h2>Headers and footers</h2>", ...margins.map((text) => `<p>${text}</p>`));
	return [...out, ...more].join("");

	function openParagraph(style: string): void {
		const { isCode, heading } = styles.look(style);
		const tag = isTitle && cells === 0 ? "h3" : heading > 0 && !lists.isOpen ? `h${heading}` : "p";
		lists.text();
		paragraphs.push({ tag, isCode, start: out.length, hasCode: false, hasOther: false });
		out.push(`<${tag}>`);
	}

	function closeParagraph(): void {
		const paragraph = paragraphs.pop();
		if (!paragraph) return;
		const { tag, start, isCode, hasCode, hasOther } = paragraph;
		const isText = tag !== "p" || hasOther || !(isCode || hasCode) || cells > 0 || lists.isOpen;
		out.push(isText ? `</${tag}>` : "</pre>");
		if (isText) return;
		out[start] = "<pre>";
		// Each line of code is a paragraph.
		if (out[start - 1] === "</pre>") [out[start - 1], out[start]] = ["\n", ""];
	}

	function openSpan(style: string): void {
		const look = styles.look(style);
		spans.push(look);
		for (const mark of look.marks) out.push(`<${mark}>`);
		if (!look.isCode) return;
		out.push("<code>");
		codeSpans++;
	}

	function closeSpan(): void {
		const look = spans.pop();
		if (!look) return;
		const around = look.isCode ? [...look.marks, "code"] : look.marks;
		for (const mark of around.toReversed()) out.push(`</${mark}>`);
		if (look.isCode) codeSpans--;
	}

	function endPart(): void {
		const part = parts.pop();
		if (!part) return;
		const html = out.join("");
		out = part.outer;
		part.end(html);
	}
}

interface OpenParagraph {
	readonly tag: string;
	readonly isCode: boolean;
	/** Where its tag is in what is written. */
	readonly start: number;
	hasCode: boolean;
	hasOther: boolean;
}

const MAX_SPACES = 100;
/** More than real documents have inside each other. */
const MAX_PARTS = 20;

const objectPath = (href: string) => resolvePath("", `${href}/content.xml`);

/** The formulas, which are documents of their own in the archive, by their path. */
async function formulasOf(zip: ZipArchive): Promise<Map<string, string>> {
	const formulas = new Map<string, string>();
	for (const name of zip.entries.keys()) {
		if (!/^[^/]+\/content\.xml$/.test(name)) continue;
		const xml = await zip.text(name);
		if (/<(?:\w+:)?math[\s>]/.test(xml.slice(0, 2000))) formulas.set(name, mathHtml(xml));
	}
	return formulas;
}

/** MathML without prefixes, as pages have it. */
function mathHtml(xml: string): string {
	const out: string[] = [];
	visitXml(xml, {
		open(name, attribute) {
			if (!MATH.test(name)) return;
			const encoding =
				name === "annotation" ? ` encoding="${escapeHtml(attribute("encoding"))}"` : "";
			const display = name === "math" && attribute("display") === "block" ? ' display="block"' : "";
			out.push(`<${name}${encoding}${display}>`);
		},
		text: (text) => out.push(escapeHtml(text)),
		close: (name) => {
			if (MATH.test(name)) out.push(`</${name}>`);
		},
	});
	return out.join("");
}

const MATH = /^(?:m[a-z]+|semantics|annotation)$/;

/** The texts of headers and footers, each once. */
function marginTexts(xml: string): string[] {
	const texts = new Set<string>();
	let [text, inMargin] = ["", false];
	visitXml(xml.slice(Math.max(0, xml.indexOf("<office:master-styles"))), {
		open(name) {
			if (MARGIN.test(name)) [text, inMargin] = ["", true];
			else if (name === "tab" || name === "s" || name === "line-break") text += " ";
		},
		text(part) {
			if (inMargin) text += escapeHtml(part);
		},
		close(name) {
			if (name === "p") text += " ";
			if (!MARGIN.test(name)) return;
			inMargin = false;
			if (text.trim() !== "") texts.add(text.trim());
		},
	});
	return [...texts];
}

const MARGIN = /^(?:header|footer)(?:-left|-first)?$/;
