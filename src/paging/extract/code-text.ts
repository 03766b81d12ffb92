import { CODE_LINE, CODE_LINES } from "./elements.ts";
import { stripControls } from "./inline-text.ts";

/** Collects the text of one block of code, with the lines that highlighters mark up as elements. */
export class CodeText {
	language: string;
	/** True inside an element that only names the language. */
	#inLabel = false;
	/** True after an inline element with a line of its own. */
	#hasLines = false;
	readonly #pieces: string[] = [];

	constructor(language: string) {
		this.language = language;
	}

	/** Number of pieces so far. */
	get length(): number {
		return this.#pieces.length;
	}

	add(text: string): void {
		if (!this.#inLabel) this.#pieces.push(text);
		else if (this.language === "" && /^\s*[a-z][\w+#.-]{0,20}\s*$/i.test(text)) {
			this.language = text.trim().toLowerCase();
		}
	}

	/** An element inside the code. Returns whether it is a line of its own. */
	open(name: string, classes: string): boolean {
		if (name === "br") this.#pieces.push("\n");
		this.#inLabel = /\blanguage-id\b/.test(classes);
		if (this.#inLabel) return false;
		const isBlockLine = CODE_LINES.has(name);
		const isSpanLine = !isBlockLine && CODE_LINE.test(classes);
		if (isBlockLine || (isSpanLine && this.#hasLines)) this.#endLine();
		if (isSpanLine) this.#hasLines = true;
		return isBlockLine;
	}

	close(): void {
		this.#inLabel = false;
	}

	/** A line that began after `from` pieces has ended; without any text it is a blank line. */
	closeLine(from: number): void {
		if (this.#pieces.length === from) this.#pieces.push("\n");
	}

	get text(): string {
		return stripControls(this.#pieces.join("")).replace(/\r\n?/g, "\n");
	}

	#endLine(): void {
		if (this.#pieces.length > 0 && !this.#pieces.at(-1)?.endsWith("\n")) this.#pieces.push("\n");
	}
}
