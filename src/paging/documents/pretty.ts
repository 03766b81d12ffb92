/** Deeper values are not indented further, since the indentation would outgrow the text. */
const MAX_DEPTH = 40;

/** White space that is added to a text, at most: so many times its length, and this many characters. */
const MAX_GROWTH = 4;
const FREE_CHARS = 10_000;

/** Whether the text is JSON or XML on one line, too long to be read. */
export function isOneLine(text: string): boolean {
	return (
		text.length > 200 &&
		/^\s*[[{<]/.test(text.slice(0, 100)) &&
		!text.trimEnd().slice(0, 100_000).includes("\n")
	);
}

/** Indents JSON without changing its tokens: numbers keep their digits, keys their order. Linear, whatever the text. */
export function prettyJson(text: string): string {
	const out: string[] = [];
	let depth = 0;
	const lines = new Lines(text.length);
	for (const token of jsonTokens(text)) {
		const before = out.at(-1) ?? "";
		if (token === "{" || token === "[") {
			depth++;
			out.push(token, lines.next(depth));
		} else if (token === "}" || token === "]") {
			depth = Math.max(0, depth - 1);
			const isEmpty = /^\n/.test(before) && /^[[{]$/.test(out.at(-2) ?? "");
			if (isEmpty) out.pop();
			out.push(isEmpty ? token : lines.next(depth) + token);
		} else if (token === ",") out.push(",", lines.next(depth));
		else out.push(token === ":" ? ": " : token);
	}
	return out.join("");
}

/** A line end with its indentation, until too much was added. */
class Lines {
	#left: number;

	constructor(length: number) {
		this.#left = length * MAX_GROWTH + FREE_CHARS;
	}

	next(depth: number): string {
		const indent = 2 * Math.min(depth, MAX_DEPTH);
		this.#left -= indent + 1;
		return this.#left < 0 ? "" : `\n${" ".repeat(indent)}`;
	}
}

function* jsonTokens(text: string): Generator<string> {
	for (let at = 0; at < text.length; ) {
		if (text[at] === '"') {
			const end = stringEnd(text, at);
			yield text.slice(at, end);
			at = end;
			continue;
		}
		JSON_TOKEN.lastIndex = at;
		const [token = text[at] as string] = JSON_TOKEN.exec(text) ?? [];
		if (token.trim() !== "") yield token;
		at += token.length;
	}
}

/** After the string's closing quote, or the end of the text. A pattern would need memory for each character. */
function stringEnd(text: string, start: number): number {
	for (
		let quote = text.indexOf('"', start + 1);
		quote !== -1;
		quote = text.indexOf('"', quote + 1)
	) {
		let escapes = 0;
		while (quote - 1 - escapes > start && text[quote - 1 - escapes] === "\\") escapes++;
		if (escapes % 2 === 0) return quote + 1;
	}
	return text.length;
}

const JSON_TOKEN = /\s+|[[\]{},:]|[^\s"[\]{},:]+/y;

/** Puts each element of XML on a line of its own, unless it holds text. Linear, whatever the text. */
export function prettyXml(text: string): string {
	const out: string[] = [];
	const lines = new Lines(text.length);
	let depth = 0;
	let isAfterText = false;
	for (const token of xmlTokens(text)) {
		if (!token.startsWith("<")) {
			if (token.trim() === "") continue;
			out.push(token);
			isAfterText = true;
			continue;
		}
		const isEnd = token.startsWith("</");
		if (isEnd) depth = Math.max(0, depth - 1);
		const isOpened = isEnd && out.at(-1)?.startsWith(`<${token.slice(2, -1).trim()}`) === true;
		if (out.length > 0 && !isAfterText && !isOpened) out.push(lines.next(depth));
		out.push(token);
		isAfterText = false;
		if (!isEnd && !/^<[!?]|\/>$/.test(token)) depth++;
	}
	return out.join("");
}

/** How a piece of markup begins, and where it ends. One without an end is text, like all that follows of its kind. */
const XML_MARKUP = [
	["<!--", "-->"],
	["<![CDATA[", "]]>"],
	["<", ">"],
] as const;

function* xmlTokens(text: string): Generator<string> {
	const endless = new Set<string>();
	for (let at = 0; at < text.length; ) {
		let end = -1;
		for (const [start, close] of XML_MARKUP) {
			if (end !== -1 || endless.has(start) || !text.startsWith(start, at)) continue;
			const found = text.indexOf(close, at + start.length);
			if (found === -1) endless.add(start);
			else end = found + close.length;
		}
		if (end === -1) {
			const next = text.indexOf("<", at + 1);
			end = next === -1 ? text.length : next;
		}
		yield text.slice(at, end);
		at = end;
	}
}
