import { InlineText, longestRun } from "./inline-text.ts";

/** Deeper lists and quotes are not indented further, since the cost is quadratic in the depth. */
const MAX_DEPTH = 5;

/** Collects Markdown blocks. Call `endBlock` before a heading, list, item, quote, table or table part. */
export class MarkdownBlocks {
	readonly inline = new InlineText();
	table: TableText | undefined;

	/** Finished blocks. Each is preceded by an element with the white space before the block. */
	readonly #out: string[] = [];
	readonly #containers: Container[] = [];
	#listDepth = 0;
	#heading = "";
	/** The mark of the current list item, if the item has no text yet. */
	#marker: { text: string; outer: string; inner: string } | undefined;
	#followsItem = false;

	/** Number of pieces written so far; see {@link offsets}. */
	get length(): number {
		return this.#out.length;
	}

	get isHeading(): boolean {
		return this.#heading !== "";
	}

	/** Where in the joined text each of the given pieces starts; the list must ascend. */
	offsets(pieces: readonly number[]): number[] {
		const trimmed = /^\n*/.exec(this.#out.slice(0, 2).join(""))?.[0].length ?? 0;
		const found: number[] = [];
		let [at, offset] = [0, 0];
		for (const piece of pieces) {
			while (at < piece && at < this.#out.length) offset += (this.#out[at++] as string).length;
			// A piece begins with the white space before its block.
			const space = this.#out[at]?.length ?? 0;
			found.push(Math.max(0, offset + space - trimmed));
		}
		return found;
	}

	join(): string {
		const text = this.#out.join("").replace(/^\n+/, "");
		// Not by pattern: one that ends with the text is quadratic in blank lines of code.
		let end = text.length;
		while (text[end - 1] === "\n") end--;
		return text.slice(0, end);
	}

	endBlock(): void {
		const text = this.inline.take();
		if (text === "") return;
		this.#write(this.#heading === "" ? text : this.#heading + text.replaceAll("\n", " "));
		this.#heading = "";
	}

	/** Makes the next paragraph a heading; level 0 undoes this. */
	heading(level: number): void {
		if (level > 0) this.#dissolveTable();
		this.#heading = level > 0 ? `${"#".repeat(level)} ` : "";
	}

	openQuote(): void {
		this.#open({ number: undefined, isList: false }, "> ");
	}

	openList(start?: number): void {
		if (this.#listDepth === 0) this.#followsItem = false;
		this.#listDepth++;
		this.#open({ number: start, isList: true }, start === undefined ? "  " : "   ");
	}

	closeContainer(): void {
		this.#marker = undefined;
		const container = this.#containers.pop();
		if (container?.isList && --this.#listDepth === 0) this.#followsItem = false;
	}

	/** `number` defaults to the next number of the innermost list. */
	item(number?: number): void {
		const list = this.#containers.at(-1);
		if (number !== undefined && list?.number !== undefined) list.number = number;
		const text = list?.number === undefined ? "- " : `${list.number++}. `;
		const inner = list?.inner ?? "";
		this.#marker = { text, outer: list?.isList ? list.outer : inner, inner };
	}

	definition(): void {
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
		const content = code.replace(/^\n+/, "").trimEnd();
		if (content.trim() === "") return;
		this.#dissolveTable();
		const fence = "`".repeat(Math.max(3, longestRun(content, /`{3,}/g) + 1));
		this.#write(`${fence}${language}\n${content}\n${fence}`);
	}

	/** A nested table means that the outer one is layout, so the cells of the outer one become blocks. */
	openTable(): void {
		this.#dissolveTable();
		this.table = new TableText();
	}

	closeTable(): void {
		this.#endTable(this.table?.finish());
	}

	/** Turns the table so far into blocks, since a Markdown row cannot hold the content that follows. */
	#dissolveTable(): void {
		this.#endTable(this.table?.blocks());
	}

	#endTable(blocks: string[] = []): void {
		this.table = undefined;
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
		// Text outside the cells is the caption, which is written before the table.
		if (this.table?.add((marker?.text ?? "") + text, isNext)) return;
		const inner = this.#containers.at(-1)?.inner ?? "";
		const first = marker ? marker.outer + marker.text + inner.slice(marker.inner.length) : inner;
		this.#out.push(this.#out.length === 0 ? "" : isNext ? "\n" : "\n\n");
		this.#out.push(first + indented(text, inner));
	}
}

/** The lines after the first one with their prefix. Blank lines need it only in a quote, which would end there. */
function indented(text: string, prefix: string): string {
	if (prefix === "" || !text.includes("\n")) return text;
	const lines = text.replace(/\n(?!\n|$)/g, `\n${prefix}`);
	const blank = prefix.trimEnd();
	return blank === "" ? lines : lines.replace(/\n(?=\n)/g, `\n${blank}`);
}

interface Container {
	readonly isList: boolean;
	number: number | undefined;
	/** `outer` is the prefix of the items' marks, `inner` the prefix of the text inside. */
	readonly outer: string;
	readonly inner: string;
}

/** Spans add empty cells, but not many more than there are real cells, since attributes are untrusted. */
class TableText {
	readonly #rows: Cell[][] = [];
	#row: Cell[] | undefined;
	#cell: Cell | undefined;
	/** For each column, how many more rows a cell above spans. */
	readonly #reach: number[] = [];
	#realCells = 0;
	#emptyCells = 0;

	startRow(): void {
		this.#row = [];
		this.#rows.push(this.#row);
		this.#cell = undefined;
		this.#fillReached(this.#row);
	}

	startCell(span: { header: boolean; columns: number; rows: number }): void {
		if (!this.#row) this.startRow();
		const row = this.#row as Cell[];
		this.#cell = { text: "", header: span.header };
		this.#realCells++;
		const column = row.length;
		row.push(this.#cell);
		for (let i = 1; i < Math.min(span.columns, MAX_SPAN); i++) this.#addEmpty(row);
		if (span.rows > 1) {
			const until = row.length;
			for (let i = column; i < until; i++) this.#reach[i] = Math.min(span.rows, MAX_SPAN) - 1;
		}
		this.#fillReached(row);
	}

	endCell(): void {
		this.#cell = undefined;
	}

	/** A `tight` block has no blank line before it. Returns false if no cell is open. */
	add(block: string, tight: boolean): boolean {
		const cell = this.#cell;
		if (!cell) return false;
		cell.text += cell.text === "" ? block : (tight ? "\n" : "\n\n") + block;
		return true;
	}

	blocks(): string[] {
		return this.#rows.flatMap((row) => row.map(({ text }) => text).filter((text) => text !== ""));
	}

	/** Returns one block with all rows; a block per cell for a layout table or a single row or column. */
	finish(): string[] {
		const used: boolean[] = [];
		for (const row of this.#rows) {
			for (const [i, { text }] of row.entries()) if (text !== "") used[i] = true;
		}
		const columns = [...used.keys()].filter((i) => used[i]);
		const rows = this.#rows.filter((row) => row.some(({ text }) => text !== ""));
		if (columns.length < 2 || rows.length < 2 || isLayout(rows.flat())) return this.blocks();
		const [first = [], ...rest] = rows;
		// Markdown drops cells beyond the header, so the header is as wide as the widest row. Short
		// rows stay short: padding a thousand of them to the width of one costs too much.
		const lines = [
			lineOf(columns.map((i) => textOf(first[i]))),
			lineOf(columns.map(() => "---")),
			...rest.map((row) => lineOf(row.filter((_, i) => used[i]).map(textOf))),
		];
		return [lines.join("\n")];
	}

	#addEmpty(row: Cell[]): boolean {
		if (this.#emptyCells >= this.#realCells + MORE_EMPTY) return false;
		this.#emptyCells++;
		row.push({ text: "", header: false });
		return true;
	}

	/** Adds empty cells in the columns that cells of earlier rows span. */
	#fillReached(row: Cell[]): void {
		for (let i = row.length; (this.#reach[i] ?? 0) > 0; i++) {
			this.#reach[i] = (this.#reach[i] as number) - 1;
			if (!this.#addEmpty(row)) return;
		}
	}
}

interface Cell {
	text: string;
	readonly header: boolean;
}

const MAX_SPAN = 50;
/** Tables with groups of rows have more empty cells than others: without them, cells move to other columns. */
const MORE_EMPTY = 10_000;

function isLayout(cells: Cell[]): boolean {
	const limit = cells.some(({ header }) => header) ? 2000 : 600;
	return cells.some(({ text }) => text.length > limit);
}

const lineOf = (cells: string[]) => `| ${cells.join(" | ")} |`;

function textOf(cell: Cell | undefined): string {
	return cell ? cell.text.replace(/\n+/g, " ").replaceAll("|", "\\|") : "";
}
