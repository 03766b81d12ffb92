export type TableForm =
	| { kind: "rows"; lines: string[] }
	/** a layout table, or nothing to tabulate */
	| { kind: "blocks"; blocks: string[] };

/** Spans add empty cells, never more than there are real ones: attributes are untrusted. */
export class TableText {
	readonly #rows: Cell[][] = [];
	#row: Cell[] | undefined;
	#cell: Cell | undefined;
	/** Per column, how many more rows a cell above spans. */
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

	/** `tight` blocks follow on the next line. False if no cell is open. */
	add(block: string, tight: boolean): boolean {
		const cell = this.#cell;
		if (!cell) return false;
		cell.text += cell.text === "" ? block : (tight ? "\n" : "\n\n") + block;
		return true;
	}

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
		// Markdown drops cells beyond the header, so it is as wide as the widest row. Short rows stay
		// short: padding a thousand of them to the width of one costs too much.
		const lines = [
			lineOf(columns.map((i) => textOf(first[i]))),
			lineOf(columns.map(() => "---")),
			...rest.map((row) => lineOf(row.filter((_, i) => used[i]).map(textOf))),
		];
		return { kind: "rows", lines };
	}

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

	/** Skips places that cells of earlier rows span. */
	#fillReached(row: Cell[]): void {
		for (let i = row.length; (this.#reach[i] ?? 0) > 0; i++) {
			this.#reach[i] = (this.#reach[i] as number) - 1;
			if (!this.#addEmpty(row)) return;
		}
	}
}

interface Cell {
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
