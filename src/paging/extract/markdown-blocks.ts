import { InlineText, longestRun } from "./inline-text.ts";
import { TableText } from "./table-text.ts";

/** Deeper lists and quotes are not indented further: the cost is quadratic in the depth. */
const MAX_DEPTH = 5;

export class MarkdownBlocks {
	readonly inline = new InlineText();

	/** Each with the white space before it. */
	readonly #out: string[] = [];
	readonly #containers: Container[] = [];
	#listDepth = 0;
	#heading = "";
	/** The mark of a list item that has no text yet. */
	#marker: { text: string; outer: string; inner: string } | undefined;
	#followsItem = false;
	#table: TableText | undefined;

	get length(): number {
		return this.#out.length;
	}

	join(from = 0, to = this.#out.length): string {
		return this.#out
			.slice(from, to)
			.join("")
			.replace(/^\n+|\n+$/g, "");
	}

	endBlock(): void {
		const text = this.inline.take();
		if (text === "") return;
		this.#write(this.#heading === "" ? text : this.#heading + text.replaceAll("\n", " "));
		this.#heading = "";
	}

	/** Applies to the next paragraph; 0 undoes it. */
	heading(level: number): void {
		this.endBlock();
		if (level > 0) this.#dissolveTable();
		this.#heading = level > 0 ? `${"#".repeat(level)} ` : "";
	}

	openQuote(): void {
		this.endBlock();
		this.#open({ number: undefined, isList: false }, "> ");
	}

	openList(start?: number): void {
		this.endBlock();
		if (this.#listDepth === 0) this.#followsItem = false;
		this.#listDepth++;
		this.#open({ number: start, isList: true }, start === undefined ? "  " : "   ");
	}

	closeContainer(): void {
		this.endBlock();
		this.#marker = undefined;
		const container = this.#containers.pop();
		if (container?.isList && --this.#listDepth === 0) this.#followsItem = false;
	}

	/** Default: the next number of the innermost list. */
	item(number?: number): void {
		this.endBlock();
		const list = this.#containers.at(-1);
		if (number !== undefined && list?.number !== undefined) list.number = number;
		const text = list?.number === undefined ? "- " : `${list.number++}. `;
		const inner = list?.inner ?? "";
		this.#marker = { text, outer: list?.isList ? list.outer : inner, inner };
	}

	definition(): void {
		this.endBlock();
		const inner = this.#containers.at(-1)?.inner ?? "";
		this.#marker = { text: ": ", outer: inner, inner };
		this.#followsItem = true;
	}

	block(markdown: string): void {
		this.endBlock();
		this.#write(markdown);
	}

	code(code: string, language: string): void {
		this.endBlock();
		const content = code.replace(/^\n+|\s+$/g, "");
		if (content.trim() === "") return;
		this.#dissolveTable();
		const fence = "`".repeat(Math.max(3, longestRun(content, /`{3,}/g) + 1));
		this.#write(`${fence}${language}\n${content}\n${fence}`);
	}

	/** A nested table turns the outer one into layout. */
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

	get inTable(): boolean {
		return this.#table !== undefined;
	}

	/** A row cannot hold what follows, so the table so far becomes blocks. */
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
		// Text outside the cells is the caption and precedes the table.
		if (this.#table?.add((marker?.text ?? "") + text, isNext)) return;
		const inner = this.#containers.at(-1)?.inner ?? "";
		const first = marker ? marker.outer + marker.text + inner.slice(marker.inner.length) : inner;
		this.#out.push(this.#out.length === 0 ? "" : isNext ? "\n" : "\n\n");
		this.#out.push(first + (inner === "" ? text : text.replace(/\n(?!\n|$)/g, `\n${inner}`)));
	}
}

interface Container {
	isList: boolean;
	number: number | undefined;
	/** Prefix of its items' marks, and of the text inside. */
	outer: string;
	inner: string;
}
