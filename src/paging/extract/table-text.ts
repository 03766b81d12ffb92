/** How a table is best written down. */
export type TableForm =
	/** lines of a markdown table */
	| { kind: "rows"; lines: string[] }
	/** the cells one after the other: a table that only places things, or nothing to tabulate */
	| { kind: "blocks"; blocks: string[] };

/**
 * Holds the cells of one table until it is known whether it tabulates or only lays out.
 *
 * Spanned places are filled with empty cells, never more than there are real ones: sizes in attributes are not
 * to be trusted.
 */
export class TableText {
	readonly #rows: Cell[][] = [];
	#row: Cell[] | undefined;
	#cell: Cell | undefined;
	/** For each column, how many more rows a cell above reaches into. */
	#reach: number[] = [];
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

	/** Adds a block to the cell at hand, `tight` ones on the line after the one before; false if there is no cell. */
	add(block: string, tight: boolean): boolean {
		const cell = this.#cell;
		if (!cell) return false;
		cell.text += cell.text === "" ? block : (tight ? "\n" : "\n\n") + block;
		return true;
	}

	/** The text of the cells, in the order of the source. */
	blocks(): string[] {
		return this.#rows.flatMap((row) => row.map(({ text }) => text).filter((text) => text !== ""));
	}

	finish(): TableForm {
		const used = this.#usedColumns();
		const columns = [...used.keys()].filter((i) => used[i]);
		const rows = this.#rows.filter((row) => row.some(({ text }) => text !== ""));
		if (columns.length < 2 || rows.length < 2 || this.#isLayout(rows)) {
			return { kind: "blocks", blocks: this.blocks() };
		}
		const [first = [], ...rest] = rows;
		// The header must be as wide as the widest row: readers of markdown drop the cells beyond it. Short rows
		// stay short: filling up a thousand of them to the width of one would be work without end.
		const lines = [
			lineOf(columns.map((i) => textOf(first[i]))),
			lineOf(columns.map(() => "---")),
			...rest.map((row) => lineOf(row.filter((_, i) => used[i]).map(textOf))),
		];
		return { kind: "rows", lines };
	}

	/** Which columns have text in any row. */
	#usedColumns(): boolean[] {
		const used: boolean[] = [];
		for (const row of this.#rows) {
			row.forEach((cell, i) => {
				if (cell.text !== "") used[i] = true;
			});
		}
		return used;
	}

	#isLayout(rows: Cell[][]): boolean {
		const hasHeader = rows.some((row) => row.some(({ header }) => header));
		const limit = hasHeader ? 2000 : 600;
		return rows.some((row) => row.some(({ text }) => text.length > limit));
	}

	#addEmpty(row: Cell[]): boolean {
		if (this.#emptyCells >= this.#realCells) return false;
		this.#emptyCells++;
		row.push({ text: "", header: false });
		return true;
	}

	/** Steps over the places that cells of earlier rows reach into. */
	#fillReached(row: Cell[]): void {
		for (let i = row.length; (this.#reach[i] ?? 0) > 0; i++) {
			this.#reach[i] = (this.#reach[i] as number) - 1;
			if (!this.#addEmpty(row)) return;
		}
	}
}

interface Cell {
	/** Blocks of text, with line ends between them. */
	text: string;
	header: boolean;
}

const MAX_SPAN = 50;

function lineOf(cells: string[]): string {
	return `| ${cells.join(" | ")} |`;
}

function textOf(cell: Cell | undefined): string {
	return cell ? cell.text.replace(/\n+/g, " ").replaceAll("|", "\\|") : "";
}
