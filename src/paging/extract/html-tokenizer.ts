import { names } from "./elements.ts";
import { decodeEntities } from "./entities.ts";

/**
 * Cuts HTML into text and tags in one pass, with the error recovery of browsers. Call `next()`
 * until `"end"`; the fields describe the current token. Linear: a failed search for a closing
 * quote, comment end or end tag is not repeated.
 */
export class HtmlTokenizer {
	source = "";
	/** The tag's name in lower case. */
	name = "";
	selfClosing = false;
	/** Where the current token starts. */
	start = 0;
	/** Content of `script`, `style`, `title`, …, which have no `"close"` token. */
	rawText: string | undefined;
	/** Number of characters examined; tests check that it grows linearly. */
	work = 0;

	readonly #html: string;
	#at = 0;
	/** Four offsets per attribute: start and end of its name and its value. */
	readonly #attributes: number[] = [];
	/** Strings known not to occur in the rest of the document. */
	readonly #missing = new Set<string>();

	readonly #isXml: boolean;
	#isLiteral = false;

	/** In XML, no element has raw text. */
	constructor(html: string, { xml = false } = {}) {
		this.#html = html;
		this.#isXml = xml;
	}

	next(): "text" | "open" | "close" | "end" {
		const html = this.#html;
		while (this.#at < html.length) {
			const start = this.#at;
			this.start = start;
			const kind = this.#token(start);
			this.work += this.#at - start;
			if (kind !== undefined) return kind;
		}
		return "end";
	}

	/** Where the current token ends. */
	get end(): number {
		return this.#at;
	}

	get text(): string {
		return this.#isLiteral ? this.source : decodeEntities(this.source);
	}

	/** Returns `""` for an attribute without a value, `undefined` for a missing one. */
	attribute(name: string): string | undefined {
		const places = this.#attributes;
		this.work += places.length / 4;
		for (let i = 0; i < places.length; i += 4) {
			const start = places[i] as number;
			const end = places[i + 1] as number;
			if (end - start !== name.length) continue;
			if (this.#html.slice(start, end).toLowerCase() !== name) continue;
			return decodeEntities(this.#html.slice(places[i + 2], places[i + 3]));
		}
		return undefined;
	}

	get hasAttributes(): boolean {
		return this.#attributes.length > 0;
	}

	#token(start: number): "text" | "open" | "close" | undefined {
		const html = this.#html;
		const opensMarkup = html.charCodeAt(start) === LESS && startsMarkup(html.charCodeAt(start + 1));
		if (!opensMarkup) return this.#plainText(start);
		const second = html.charCodeAt(start + 1);
		if (second === BANG || second === QUESTION) return this.#declaration(start);
		if (second !== SLASH) return this.#openTag(start);
		if (isLetter(html.charCodeAt(start + 2))) return this.#closeTag(start);
		this.#skipPast(">", start + 2);
		return undefined;
	}

	#plainText(start: number): "text" {
		const html = this.#html;
		let end = start;
		do {
			end = html.indexOf("<", end + 1);
		} while (end !== -1 && !startsMarkup(html.charCodeAt(end + 1)));
		this.#at = end === -1 ? html.length : end;
		this.source = html.slice(start, this.#at);
		this.#isLiteral = false;
		return "text";
	}

	#declaration(start: number): "text" | undefined {
		const html = this.#html;
		if (html.startsWith("<!--", start)) {
			// The search starts at `--`, since `<!-->` is a whole comment.
			this.#skipPast("-->", start + 2);
			return undefined;
		}
		if (html.startsWith("<![CDATA[", start)) {
			const end = this.#find("]]>", start + 9);
			if (end !== -1) {
				this.source = html.slice(start + 9, end);
				this.#at = end + 3;
				// In XML, an ampersand in CDATA is itself: HTML in a feed keeps its own entities.
				this.#isLiteral = this.#isXml;
				return "text";
			}
		}
		this.#skipPast(">", start + 2);
		return undefined;
	}

	#closeTag(start: number): "close" {
		const nameEnd = this.#nameEnd(start + 2);
		this.name = this.#html.slice(start + 2, nameEnd).toLowerCase();
		this.#skipPast(">", nameEnd);
		return "close";
	}

	#openTag(start: number): "open" | undefined {
		const nameEnd = this.#nameEnd(start + 1);
		this.name = this.#html.slice(start + 1, nameEnd).toLowerCase();
		this.rawText = undefined;
		if (!this.#readAttributes(nameEnd)) return undefined;
		if (!this.#isXml && RAW_TEXT.has(this.name)) this.#readRawText();
		return "open";
	}

	/** Returns false if the document ends inside the tag, which is then ignored. */
	#readAttributes(from: number): boolean {
		const html = this.#html;
		const places = this.#attributes;
		places.length = 0;
		let at = from;
		for (;;) {
			while (isSpace(html.charCodeAt(at)) || html.charCodeAt(at) === SLASH) at++;
			if (at >= html.length) break;
			if (html.charCodeAt(at) === GREATER) {
				this.selfClosing = html.charCodeAt(at - 1) === SLASH;
				this.#at = at + 1;
				return true;
			}
			const nameStart = at;
			at++; // any character here begins a name, even "="
			while (at < html.length && !endsAttributeName(html.charCodeAt(at))) at++;
			const nameEnd = at;
			while (isSpace(html.charCodeAt(at))) at++;
			if (html.charCodeAt(at) !== EQUALS) {
				places.push(nameStart, nameEnd, nameEnd, nameEnd);
				continue;
			}
			at++;
			while (isSpace(html.charCodeAt(at))) at++;
			const quote = html.charCodeAt(at);
			const end =
				quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE
					? this.#find(quote === DOUBLE_QUOTE ? '"' : "'", at + 1)
					: -1;
			if (end !== -1) {
				places.push(nameStart, nameEnd, at + 1, end);
				at = end + 1;
				continue;
			}
			const valueStart = at;
			while (at < html.length && !endsBareValue(html.charCodeAt(at))) at++;
			places.push(nameStart, nameEnd, valueStart, at);
		}
		this.#at = html.length;
		return false;
	}

	#readRawText(): void {
		const html = this.#html;
		const start = this.#at;
		const end = this.#findCloseTag(start);
		if (end !== -1) {
			this.rawText = html.slice(start, end);
			this.#skipPast(">", end);
		} else if (this.name === "script" || this.name === "style") {
			// An unclosed script or style runs to the end. Other elements do not: the page would be lost.
			this.rawText = html.slice(start);
			this.#at = html.length;
		}
	}

	#findCloseTag(from: number): number {
		const html = this.#html;
		const closing = `</${this.name}`;
		if (this.#missing.has(closing)) return -1;
		for (let at = html.indexOf("</", from); at !== -1; at = html.indexOf("</", at + 2)) {
			const end = at + closing.length;
			if (end < html.length && !endsName(html.charCodeAt(end))) continue;
			if (html.slice(at, end).toLowerCase() === closing) return at;
		}
		this.#missing.add(closing);
		this.work += html.length - from;
		return -1;
	}

	#nameEnd(from: number): number {
		let at = from;
		while (at < this.#html.length && !endsName(this.#html.charCodeAt(at))) at++;
		return at;
	}

	#skipPast(closing: string, from: number): void {
		const end = this.#find(closing, from);
		this.#at = end === -1 ? this.#html.length : end + closing.length;
	}

	#find(wanted: string, from: number): number {
		if (this.#missing.has(wanted)) return -1;
		const found = this.#html.indexOf(wanted, from);
		if (found !== -1) return found;
		this.#missing.add(wanted);
		this.work += this.#html.length - from;
		return -1;
	}
}

const RAW_TEXT = names("script style title textarea xmp iframe noembed noframes");

const LESS = 0x3c;
const GREATER = 0x3e;
const SLASH = 0x2f;
const BANG = 0x21;
const QUESTION = 0x3f;
const EQUALS = 0x3d;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;

const isLetter = (code: number) => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
const isSpace = (code: number) => code === 0x20 || (code >= 0x09 && code <= 0x0d);
const startsMarkup = (code: number) =>
	isLetter(code) || code === SLASH || code === BANG || code === QUESTION;
const endsName = (code: number) => isSpace(code) || code === SLASH || code === GREATER;
const endsAttributeName = (code: number) => endsName(code) || code === EQUALS;
const endsBareValue = (code: number) => isSpace(code) || code === GREATER;
