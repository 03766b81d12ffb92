import type { TextPiece, Word } from "./pieces.ts";

/** A range of the page's text, rewritten. */
interface Region {
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
 * The narrowest gap between two columns of a table, in heights of a line. Spaces between words are narrower, but those of
 * justified lines are not, and in few rows they happen to be at the same place.
 */
const COLUMN_GAP = 0.4;
const COLUMN_GAP_OF_FEW = 1.5;
const FEW_ROWS = 4;

/**
 * Finds rows of pieces side by side, in pieces as the page draws them. Two columns of prose are written one after the other,
 * other rows as a table, each cell in its column.
 */
export function findRegions(text: string, pieces: readonly TextPiece[]): Region[] {
	const regions: Region[] = [];
	const rows = rowsOf(text, pieces);
	const follows = (at: number) => {
		const [above, below] = [rows[at - 1], rows[at]];
		// Rows that begin further up are in the next column of the page.
		const isLower = (below?.[0]?.bottom ?? 0) < (above?.[0]?.bottom ?? 0);
		return isLower && isNext(text, above?.at(-1), below?.[0]);
	};
	let free = 0;
	for (let at = 0; at < rows.length; ) {
		let end = at;
		while (end < rows.length && (rows[end] as Row).length > 1 && (end === at || follows(end)))
			end++;
		if (end - at >= MIN_ROWS) {
			const found = isProse(rows.slice(at, end)) ? { start: at, end } : tableAround(rows, at, end);
			const block = rows.slice(found.start, found.end);
			const written = write(text, block);
			if (written !== undefined) {
				const [first, last] = [block[0]?.[0] as TextPiece, block.at(-1)?.at(-1) as TextPiece];
				regions.push({ from: first.from, to: last.to, text: written });
				free = found.end;
			}
			end = found.end;
		}
		at = Math.max(end, at + 1);
	}
	return regions;

	/** Rows whose cells are close to each other belong to the table if they leave the gaps between its columns free. */
	function tableAround(all: readonly Row[], from: number, to: number) {
		let [start, end] = [from, to];
		const fits = (at: number) => {
			const columns = columnsOf(all.slice(start, end));
			const words = all[at]?.flatMap((piece) => piece.words) ?? [];
			const used = words.map((word) => columnsUnder(word, columns));
			if (used.some(({ length }) => length !== 1) || new Set(used.flat()).size < 2) return false;
			const extended = all.slice(Math.min(start, at), Math.max(end, at + 1));
			return columnsOf(extended).length >= columns.length;
		};
		while (end < all.length && follows(end) && fits(end)) end++;
		while (start > free && follows(start) && fits(start - 1)) start--;
		return { start, end };
	}
}

type Row = readonly TextPiece[];

/** Pieces that follow each other on one line, from left to right. */
function rowsOf(text: string, pieces: readonly TextPiece[]): Row[] {
	const rows: TextPiece[][] = [];
	for (const piece of pieces) {
		const row = rows.at(-1);
		const before = row?.at(-1);
		const isBeside =
			row?.some((other) => sharesLine(other, piece)) && piece.left >= (before?.right ?? 0);
		if (row && isBeside && isNext(text, before, piece)) row.push(piece);
		else rows.push([piece]);
	}
	return rows;
}

/** Whether only leaders are between two pieces. A region replaces all text in its range, so it has no other text. */
function isNext(text: string, a: TextPiece | undefined, b: TextPiece | undefined): boolean {
	return a !== undefined && b !== undefined && !/[^\s.·…]/.test(text.slice(a.to, b.from));
}

function sharesLine(a: TextPiece, b: TextPiece): boolean {
	const overlap = Math.min(a.top, b.top) - Math.max(a.bottom, b.bottom);
	const height = Math.min(a.top - a.bottom, b.top - b.bottom);
	return height > 0 && overlap >= height / 2;
}

function isProse(rows: readonly Row[]): boolean {
	const cells = rows.flat();
	return cells.filter((cell) => cell.to - cell.from >= PROSE_CHARS).length >= cells.length / 2;
}

function write(text: string, rows: readonly Row[]): string | undefined {
	const textOf = (from: number, to: number) => text.slice(from, to).replace(/\s+/g, " ").trim();
	if (isProse(rows)) {
		if (rows.length < MIN_COLUMN_ROWS || !rows.every(({ length }) => length === 2))
			return undefined;
		const column = (i: number) =>
			rows.map((row) => textOf((row[i] as TextPiece).from, (row[i] as TextPiece).to));
		return [...column(0), ...column(1)].join("\r\n");
	}
	const columns = columnsOf(rows);
	if (columns.length < 2) return undefined;
	return rows
		.map((row) => {
			const cells = columns.map(() => "");
			for (const { from, to, left } of row.flatMap(({ words }) => words)) {
				const column = Math.max(
					0,
					columns.findLastIndex((one) => left >= one.left),
				);
				const word = textOf(from, to).replaceAll("|", "\\|");
				cells[column] = cells[column] === "" ? word : `${cells[column]} ${word}`;
			}
			return `| ${cells.join(" | ")} |`;
		})
		.join("\r\n");
}

interface Column {
	readonly left: number;
	right: number;
}

/** Columns: ranges that the words of all rows cover, with gaps between them that no word touches. */
function columnsOf(rows: readonly Row[]): Column[] {
	const height = Math.max(...rows.flat().map(({ top, bottom }) => top - bottom));
	const gap = height * (rows.length < FEW_ROWS ? COLUMN_GAP_OF_FEW : COLUMN_GAP);
	const columns: Column[] = [];
	const words = rows.flatMap((row) => row.flatMap((piece) => piece.words));
	for (const { left, right } of words.toSorted((a, b) => a.left - b.left)) {
		const last = columns.at(-1);
		if (last && left - last.right < gap) last.right = Math.max(last.right, right);
		else columns.push({ left, right });
	}
	return columns.filter((column, i) => {
		if (i === 0 || isShared(column, rows)) return true;
		(columns[i - 1] as Column).right = column.right;
		return false;
	});
}

/** Whether a wide gap is before the column, or several rows have it: a gap in one row is only a wide space. */
function isShared(column: Column, rows: readonly Row[]): boolean {
	const isInside = ({ left }: Word) => left >= column.left && left <= column.right;
	if (rows.some((row) => row.some(isInside))) return true;
	return rows.filter((row) => row.some(({ words }) => words.some(isInside))).length > 1;
}

/** The columns that a word touches. */
function columnsUnder({ left, right }: Word, columns: readonly Column[]): number[] {
	return columns.flatMap((column, i) => (right > column.left && left < column.right ? [i] : []));
}
