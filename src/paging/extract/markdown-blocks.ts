import { InlineText, longestRun } from "./inline-text.ts";
import { TableText } from "./table-text.ts";

/** Deeper lists and quotes are not indented further: it would cost the square of their depth. */
const MAX_DEPTH = 5;

/**
 * Writes markdown block by block: paragraphs with the marks and indentation of the headings, lists and quotes
 * they stand in, code, and tables.
 */
export class MarkdownBlocks {
	/** The text of the paragraph being written. */
	readonly inline = new InlineText();

	/** Finished blocks, each with the white space before it. */
	readonly #out: string[] = [];
	/** The lists and quotes open now, outermost first. */
	readonly #containers: Container[] = [];
	#listDepth = 0;
	#heading = "";
	/** The mark of a list item without text so far. */
	#marker: { text: string; outer: string; inner: string } | undefined;
	#followsItem = false;
	#table: TableText | undefined;

	/** How many blocks are finished. */
	get length(): number {
		return this.#out.length;
	}

	/** The markdown of the blocks from one count to another. */
	join(from = 0, to = this.#out.length): string {
		return this.#out
			.slice(from, to)
			.join("")
			.replace(/^\n+|\n+$/g, "");
	}

	/** Ends the paragraph, if there is one. */
	endBlock(): void {
		const text = this.inline.take();
		if (text === "") return;
		this.#write(this.#heading === "" ? text : this.#heading + text.replaceAll("\n", " "));
		this.#heading = "";
	}

	/** The next paragraph is a heading of this level; 0 takes that back. */
	heading(level: number): void {
		this.endBlock();
		if (level > 0) this.#dissolveTable();
		this.#heading = level > 0 ? `${"#".repeat(level)} ` : "";
	}

	openQuote(): void {
		this.endBlock();
		this.#open({ number: undefined, isList: false }, "> ");
	}

	/** Opens a list; an ordered one counts from `start`. */
	openList(start?: number): void {
		this.endBlock();
		if (this.#listDepth === 0) this.#followsItem = false;
		this.#listDepth++;
		this.#open({ number: start, isList: true }, start === undefined ? "  " : "   ");
	}

	/** Ends the innermost list or quote. */
	closeContainer(): void {
		this.endBlock();
		this.#marker = undefined;
		const container = this.#containers.pop();
		if (container?.isList && --this.#listDepth === 0) this.#followsItem = false;
	}

	/** The next paragraph is an item of the innermost list, with the number given or the one due. */
	item(number?: number): void {
		this.endBlock();
		const list = this.#containers.at(-1);
		if (number !== undefined && list?.number !== undefined) list.number = number;
		const text = list?.number === undefined ? "- " : `${list.number++}. `;
		const inner = list?.inner ?? "";
		this.#marker = { text, outer: list?.isList ? list.outer : inner, inner };
	}

	/** The next paragraph explains the term before it. */
	definition(): void {
		this.endBlock();
		const inner = this.#containers.at(-1)?.inner ?? "";
		this.#marker = { text: ": ", outer: inner, inner };
		this.#followsItem = true;
	}

	/** A paragraph of finished markdown, such as a rule or a formula. */
	block(markdown: string): void {
		this.endBlock();
		this.#write(markdown);
	}

	/** A block of code. */
	code(code: string, language: string): void {
		this.endBlock();
		const content = code.replace(/^\n+|\s+$/g, "");
		if (content.trim() === "") return;
		this.#dissolveTable();
		const fence = "`".repeat(Math.max(3, longestRun(content, /`{3,}/g) + 1));
		this.#write(`${fence}${language}\n${content}\n${fence}`);
	}

	/** Opens a table. One inside another makes the outer one a mere arrangement of blocks. */
	openTable(): void {
		this.endBlock();
		this.#dissolveTable();
		this.#table = new TableText();
	}

	startRow(): void {
		this.endBlock();
		this.#table?.startRow();
	}

	startCell(span: { header: boolean; columns: number; rows: number }): void {
		this.endBlock();
		this.#table?.startCell(span);
	}

	endCell(): void {
		this.endBlock();
		this.#table?.endCell();
	}

	closeTable(): void {
		this.endBlock();
		const form = this.#table?.finish();
		this.#table = undefined;
		if (form?.kind === "rows") this.#write(form.lines.join("\n"));
		else for (const block of form?.blocks ?? []) this.#write(block);
	}

	/** Whether the text being written is inside a table that may become rows. */
	get inTable(): boolean {
		return this.#table !== undefined;
	}

	/** What is in the table so far becomes blocks, since a row cannot hold what comes next. */
	#dissolveTable(): void {
		const blocks = this.#table?.blocks() ?? [];
		this.#table = undefined;
		for (const block of blocks) this.#write(block);
	}

	#open(container: Pick<Container, "isList" | "number">, indent: string): void {
		const outer = this.#containers.at(-1)?.inner ?? "";
		const inner = this.#containers.length < MAX_DEPTH ? outer + indent : outer;
		this.#containers.push({ ...container, outer, inner });
	}

	#write(text: string): void {
		const marker = this.#marker;
		this.#marker = undefined;
		const isNext = marker !== undefined && this.#followsItem;
		this.#followsItem = this.#listDepth > 0;
		// Text of a table outside its cells is its caption and goes before it.
		if (this.#table?.add((marker?.text ?? "") + text, isNext)) return;
		const inner = this.#containers.at(-1)?.inner ?? "";
		const first = marker ? marker.outer + marker.text + inner.slice(marker.inner.length) : inner;
		this.#out.push(this.#out.length === 0 ? "" : isNext ? "\n" : "\n\n");
		this.#out.push(first + (inner === "" ? text : text.replace(/\n(?!\n|$)/g, `\n${inner}`)));
	}
}

interface Container {
	isList: boolean;
	/** The number of an ordered list's next item. */
	number: number | undefined;
	/** What stands before its items' marks, and before the text inside. */
	outer: string;
	inner: string;
}
