import { parseHTML } from "linkedom";
import { CODE_LINES, codeLanguage } from "./elements.ts";
import { Formula } from "./formula.ts";
import type { PartKind } from "./markdown-blocks.ts";

/** The part of a DOM document used here. */
export interface PageDocument {
	querySelectorAll(selector: string): Iterable<PageElement>;
	createElement(name: string): PageElement;
	readonly body: PageElement;
}

export interface PageNode {
	readonly nodeType: number;
	readonly nodeName: string;
	readonly childNodes: Iterable<PageNode>;
	textContent: string;
	before(text: string): void;
}

export interface PageElement extends PageNode {
	readonly id: string;
	readonly innerHTML: string;
	readonly parentElement: PageElement | null;
	readonly firstElementChild: PageElement | null;
	getAttribute(name: string): string | null;
	setAttribute(name: string, value: string): void;
	removeAttribute(name: string): void;
	querySelector(selector: string): PageElement | null;
	querySelectorAll(selector: string): Iterable<PageElement>;
	closest(selector: string): PageElement | null;
	matches(selector: string): boolean;
	contains(other: PageElement): boolean;
	after(...siblings: PageElement[]): void;
	append(...children: PageElement[]): void;
	replaceChildren(...children: PageElement[]): void;
	replaceWith(other: PageElement): void;
	remove(): void;
}

/** Preserves what Defuddle and Readability lose: hidden parts, languages of code, formulae without LaTeX. */
export function parsePage(html: string, baseUrl: string): PageDocument {
	const { document } = parseHTML(isComplete(html) ? html : rewrap(html)) as unknown as {
		document: PageDocument;
	};
	// Defuddle needs style sheets and an address, which linkedom lacks.
	Object.assign(document, { styleSheets: [], URL: baseUrl });
	showHiddenParts(document);
	nameLanguages(document);
	keepFormulae(document);
	writeFormulae(document);
	return document;
}

/** Returns false and changes nothing unless the page has exactly one part of this kind. */
export function narrowToPart(document: PageDocument, kind: PartKind): boolean {
	const selector = kind === "main" ? 'main, [role="main"]' : "article";
	const [part, ...others] = document.querySelectorAll(selector);
	if (!part || others.length > 0) return false;
	document.body.replaceChildren(part);
	return true;
}

/** True if all content is in the body. Unlike a browser, linkedom does not move content into it. */
function isComplete(html: string): boolean {
	if (!/<html[\s>]/i.test(html) || !/<body[\s>]/i.test(html)) return false;
	const end = /<\/(?:body|html)\s*>/i.exec(html);
	return (
		end === null ||
		!/<(?:p|div|h[1-6]|ul|ol|table|article|section|main)[\s>]/i.test(html.slice(end.index))
	);
}

function rewrap(html: string): string {
	const content = html.replace(/<!doctype[^>]*>|<\/?(?:html|head|body)(?:\s[^>]*)?>/gi, "");
	return `<!doctype html><html><head></head><body>${content}</body></html>`;
}

function nameLanguages(document: PageDocument): void {
	for (const pre of document.querySelectorAll("pre")) {
		const code = pre.querySelector("code");
		const around = pre.parentElement;
		for (const element of [code, pre, around, around?.parentElement]) {
			const language = element && codeLanguage((name) => element.getAttribute(name));
			if (!element || !language) continue;
			// Readability looks for the language only at the code; Defuddle starts at the element around it.
			(code ?? pre).setAttribute("class", `language-${language}`);
			element.setAttribute("data-lang", language);
			break;
		}
	}
}

/** Replaces MathJax scripts with `math` elements, since Defuddle and Readability drop scripts. */
function keepFormulae(document: PageDocument): void {
	for (const script of document.querySelectorAll('script[type^="math/tex"]')) {
		const math = document.createElement("math");
		const semantics = document.createElement("semantics");
		const annotation = document.createElement("annotation");
		const isDisplay = /mode\s*=\s*display/i.test(script.getAttribute("type") ?? "");
		math.setAttribute("data-latex", script.textContent);
		math.setAttribute("display", isDisplay ? "block" : "inline");
		annotation.setAttribute("encoding", "application/x-tex");
		annotation.textContent = script.textContent;
		semantics.append(annotation);
		math.append(semantics);
		script.replaceWith(math);
	}
}

/** Adds LaTeX to MathML: Defuddle's own conversion lacks fractions and powers. */
function writeFormulae(document: PageDocument): void {
	for (const math of document.querySelectorAll("math")) {
		const notes = [...math.querySelectorAll("annotation")];
		const hasLatex = notes.some((note) => /\btex\b/i.test(note.getAttribute("encoding") ?? ""));
		if (hasLatex || math.matches("[data-latex], [alttext]")) continue;
		const formula = new Formula(undefined, false);
		for (const node of math.childNodes) readMath(node, formula);
		for (const element of [math, math.closest("mjx-container")]) {
			element?.setAttribute("data-latex", formula.latex);
		}
	}
}

function readMath(node: PageNode, formula: Formula): void {
	if (node.nodeType === TEXT_NODE) formula.add(node.textContent);
	if (node.nodeType !== ELEMENT_NODE) return;
	const name = node.nodeName.toLowerCase();
	if (name.startsWith("annotation")) return;
	formula.open(name);
	for (const child of node.childNodes) readMath(child, formula);
	formula.close(name);
}

const ELEMENT_NODE = 1;
const TEXT_NODE = 3;

/** Shows hidden parts that a script or a click on a tab would show. */
function showHiddenParts(document: PageDocument): void {
	placeStreamedParts(document);
	for (const panel of document.querySelectorAll('[role="tabpanel"]')) {
		if (panel.querySelector("pre") === null) continue;
		for (const name of ["hidden", "aria-hidden", "style"]) panel.removeAttribute(name);
		panel.setAttribute("class", (panel.getAttribute("class") ?? "").replace(HIDING_CLASS, ""));
	}
}

// React streams late parts as hidden elements `S:n`. A script then moves them to the template `B:n`.
function placeStreamedParts(document: PageDocument): void {
	const parts = [...document.querySelectorAll('[hidden][id^="S:"]')];
	if (parts.length === 0) return;
	const templates = [...document.querySelectorAll('template[id^="B:"]')];
	const places = new Map(templates.map((template) => [template.id, template]));
	for (const part of parts) {
		part.removeAttribute("hidden");
		const place = places.get(part.id.replace("S:", "B:"));
		if (place && !part.contains(place)) place.replaceWith(part);
	}
}

const HIDING_CLASS = /(?<!\S)(?:\S+:)?(?:hidden|invisible)(?!\S)/g;

/** Protects white space in code from Defuddle; {@link releaseCode} undoes it. */
export function guardCode(document: PageDocument): void {
	for (const pre of document.querySelectorAll("pre")) {
		for (const line of pre.querySelectorAll(LINES)) {
			if (line.textContent.trim() === "") line.textContent = BLANK + line.textContent;
		}
		const pieces = piecesOf(pre);
		const first = pieces.find(({ textContent }) => textContent.trim() !== "");
		let afterLineBreak = false;
		for (const piece of pieces) {
			const isBreak = piece.nodeName === "BR";
			const text = isBreak ? "\n" : piece.textContent;
			if (isBreak && afterLineBreak) piece.before(BLANK);
			if (!isBreak) {
				const start = piece === first && /^\s*[ \t]/.test(text) ? START : "";
				const joint = afterLineBreak && text.startsWith("\n") ? BLANK : "";
				piece.textContent = start + joint + guardWhiteSpace(text);
			}
			if (text !== "") afterLineBreak = text.endsWith("\n");
		}
	}
}

export function releaseCode(html: string): string {
	return html.replace(/<pre[\s>][\s\S]*?<\/pre>/g, (code) =>
		code.replaceAll(BLANK, "").replaceAll(START, "").replaceAll(TAB, "\t"),
	);
}

/** Makes code plain text, since Readability mistakes highlighted lines for paragraphs and unindents them. */
export function flattenCode(document: PageDocument): void {
	for (const pre of document.querySelectorAll("pre")) {
		const text = codeText(pre);
		const code = pre.querySelector("code");
		if (code) pre.replaceChildren(code);
		(code ?? pre).textContent = text;
	}
}

function codeText(pre: PageElement): string {
	const pieces: string[] = [];
	const add = (node: PageNode): void => {
		const name = node.nodeName.toLowerCase();
		const endsLine = CODE_LINES.has(name) && pieces.length > 0 && !pieces.at(-1)?.endsWith("\n");
		if (name === "br" || endsLine) pieces.push("\n");
		if (node.nodeType === TEXT_NODE && node.textContent !== "") pieces.push(node.textContent);
		for (const child of node.childNodes) add(child);
	};
	for (const child of pre.childNodes) add(child);
	return pieces.join("");
}

function piecesOf(element: PageElement): PageNode[] {
	return [...element.childNodes].flatMap((node) => {
		const isPiece = node.nodeType === TEXT_NODE || node.nodeName === "BR";
		return isPiece ? [node] : piecesOf(node as PageElement);
	});
}

function guardWhiteSpace(text: string): string {
	return text.replace(/\n(?=\n)/g, `\n${BLANK}`).replaceAll("\t", TAB);
}

const LINES = '.line, [data-line], div[class*="line"], span[class*="line"]';
/** Marks blank lines. Defuddle treats `BLANK` and `TAB` as white space, and both are rare in code. */
const BLANK = "\u2028";
const TAB = "\u2029";
/** Marks an indented first line. */
const START = "\ue000";
