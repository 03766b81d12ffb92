import { CODE_LINES } from "./element-names.ts";
import { type PageDocument, type PageElement, type PageNode, TEXT_NODE } from "./page-document.ts";

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
				piece.textContent = start + joint + guarded(text);
			}
			if (text !== "") afterLineBreak = text.endsWith("\n");
		}
	}
}

/** Undoes {@link guardCode}. */
export function releaseCode(html: string): string {
	return html.replace(/<pre[\s>][\s\S]*?<\/pre>/g, (code) =>
		code.replaceAll(BLANK, "").replaceAll(START, "").replaceAll(TAB, "\t"),
	);
}

/** Readability takes highlighted lines for paragraphs and removes their indentation. */
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

function guarded(text: string): string {
	return text.replace(/\n(?=\n)/g, `\n${BLANK}`).replaceAll("\t", TAB);
}

const LINES = '.line, [data-line], div[class*="line"], span[class*="line"]';
/** Marks blank lines. Like `TAB` it is white space to Defuddle and rare in code. */
const BLANK = "\u2028";
const TAB = "\u2029";
/** Marks an indented first line. */
const START = "\ue000";
