/** A piece of a line of a page, without wide gaps inside: a range of the page's text, and its box in points. */
export interface TextPiece {
	readonly from: number;
	readonly to: number;
	readonly left: number;
	readonly right: number;
	readonly bottom: number;
	readonly top: number;
}

/** A range of the page's text, rewritten. */
export interface Region {
	readonly from: number;
	readonly to: number;
	readonly text: string;
}

/** Fewer rows are not a table, or not two columns. */
const MIN_ROWS = 2;
const MIN_COLUMN_ROWS = 4;
/** Cells of at least so many characters, half of them, are lines of a column of text. */
const PROSE_CHARS = 25;

/**
 * Finds rows of pieces side by side, in pieces as the page draws them. Two columns of prose are written one after the other,
 * other rows as a table, each cell in its column.
 */
export function findRegions(text: string, pieces: readonly TextPiece[]): Region[] {
	const regions: Region[] = [];
	const rows = rowsOf(text, pieces);
	for (let at = 0; at < rows.length; ) {
		let end = at;
		while (end < rows.length && (rows[end] as Row).length > 1) {
			end++;
			if (!isNext(text, rows[end - 1]?.at(-1), rows[end]?.[0])) break;
		}
		const block = rows.slice(at, end);
		if (block.length >= MIN_ROWS) {
			const written = write(text, block);
			if (written !== undefined) {
				const [first, last] = [block[0]?.[0] as TextPiece, block.at(-1)?.at(-1) as TextPiece];
				regions.push({ from: first.from, to: last.to, text: written });
			}
		}
		at = Math.max(end, at + 1);
	}
	return regions;
}

type Row = readonly TextPiece[];

/** Pieces that follow each other on one line, from left to right. */
function rowsOf(text: string, pieces: readonly TextPiece[]): Row[] {
	const rows: TextPiece[][] = [];
	for (const piece of pieces) {
		const row = rows.at(-1);
		const before = row?.at(-1);
		if (row && before && isBeside(before, piece) && isNext(text, before, piece)) row.push(piece);
		else rows.push([piece]);
	}
	return rows;
}

/** Whether there is no text between two pieces. A region replaces all text in its range, so it has none without a piece. */
function isNext(text: string, a: TextPiece | undefined, b: TextPiece | undefined): boolean {
	return a !== undefined && b !== undefined && text.slice(a.to, b.from).trim() === "";
}

function isBeside(a: TextPiece, b: TextPiece): boolean {
	const overlap = Math.min(a.top, b.top) - Math.max(a.bottom, b.bottom);
	const height = Math.min(a.top - a.bottom, b.top - b.bottom);
	return height > 0 && overlap >= height / 2 && b.left >= a.right;
}

function write(text: string, rows: readonly Row[]): string | undefined {
	const textOf = ({ from, to }: TextPiece) => text.slice(from, to).replace(/\s+/g, " ").trim();
	const cells = rows.flat();
	const long = cells.filter((cell) => cell.to - cell.from >= PROSE_CHARS).length;
	const isProse = long >= cells.length / 2;
	const isTwoColumns = rows.every(({ length }) => length === 2);
	if (isProse) {
		if (!isTwoColumns || rows.length < MIN_COLUMN_ROWS) return undefined;
		return [0, 1].flatMap((i) => rows.map((row) => textOf(row[i] as TextPiece))).join("\r\n");
	}
	const edges = columnEdges(rows);
	return rows
		.map((row) => {
			const line = edges.map(() => "");
			for (const piece of row) {
				const column = columnOf(piece, edges);
				line[column] = [line[column], textOf(piece)]
					.filter(Boolean)
					.join(" ")
					.replaceAll("|", "\\|");
			}
			return `| ${line.join(" | ")} |`;
		})
		.join("\r\n");
}

/** Columns: ranges that no gap between the pieces of all rows divides. */
function columnEdges(rows: readonly Row[]): { left: number; right: number }[] {
	const edges: { left: number; right: number }[] = [];
	const pieces = rows.flat().toSorted((a, b) => a.left - b.left);
	for (const { left, right } of pieces) {
		const last = edges.at(-1);
		if (last && left < last.right) last.right = Math.max(last.right, right);
		else edges.push({ left, right });
	}
	return edges;
}

function columnOf({ left }: TextPiece, edges: readonly { left: number; right: number }[]): number {
	const found = edges.findLastIndex((edge) => left >= edge.left);
	return Math.max(0, found);
}
