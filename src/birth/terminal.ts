import { reportsProblem } from "./problem.ts";

/**
 * A text as a terminal of unlimited width would show it. `undefined` in doubt: unknown sequences,
 * characters of unknown width in overwritten columns, moves beyond the text, a lost line that reported a
 * problem. A text without control characters is returned as it is. `\r\n` is a line end and stays.
 */
export function rendered(text: string): string | undefined {
	if (!isControlled(text)) return text;
	const plain = withoutInvisible(text);
	if (plain === undefined || !isControlled(plain)) return plain;
	if (STRAY.test(plain)) return undefined;
	try {
		const isVertical = plain.includes("\u001b") && VERTICAL.test(plain);
		return isVertical ? shown(plain) : withShownLines(plain);
	} catch (error) {
		if (error instanceof Doubt) return undefined;
		throw error;
	}
}

/** Without moves to other lines, only the lines with moves change. */
function withShownLines(text: string): string {
	const parts: string[] = [];
	let copied = 0;
	MOVED.lastIndex = 0;
	for (let move = MOVED.exec(text); move; move = MOVED.exec(text)) {
		const start = text.lastIndexOf("\n", move.index) + 1;
		const lineEnd = text.indexOf("\n", move.index);
		const isWindows = lineEnd !== -1 && text[lineEnd - 1] === "\r";
		const end = lineEnd === -1 ? text.length : isWindows ? lineEnd - 1 : lineEnd;
		const line = text.slice(start, end);
		parts.push(text.slice(copied, start), overwritten(line) ?? shown(line));
		copied = end;
		MOVED.lastIndex = Math.max(end, lineEnd);
	}
	parts.push(text.slice(copied));
	return parts.join("");
}

/** A line whose only moves are carriage returns, which is what most progress is; `undefined` for others. */
function overwritten(line: string): string | undefined {
	if (line.includes("\u001b") || line.includes("\b")) return undefined;
	const texts = line.split("\r").filter((text) => text !== "");
	if (texts.length > 1 && !NARROW_TEXTS.test(line)) throw new Doubt();
	let shown = "";
	for (let at = texts.length - 1; at >= 0; at--) {
		const text = texts[at] as string;
		if (text.length > shown.length) shown += text.slice(shown.length);
	}
	if (hasLostProblem(line, [shown])) throw new Doubt();
	return shown;
}

function shown(text: string): string {
	const rows = new Screen().show(text);
	if (hasLostProblem(text, rows)) throw new Doubt();
	return rows.join("\n");
}

/** Other control characters move nothing, and stay. */
function isControlled(text: string): boolean {
	if (text.includes("\u001b") || text.includes("\b") || text.includes("\u0007")) return true;
	return text.includes("\r") && /\r(?!\n)/.test(text);
}

/** `undefined` if there is an unknown sequence. Only looks at the part that has some. */
function withoutInvisible(text: string): string | undefined {
	const starts = ["\u001b", "\u0007"].filter((start) => text.includes(start));
	if (starts.length === 0) return text;
	const from = Math.min(...starts.map((start) => text.indexOf(start)));
	const last = Math.max(...starts.map((start) => text.lastIndexOf(start)));
	const lineEnd = text.indexOf("\n", last);
	const end = lineEnd === -1 ? text.length : lineEnd;
	const part = text.slice(from, end);
	if (INTERRUPTED.test(part)) return undefined;
	const plain = withoutSequences(part.replace(COLOUR, ""));
	return plain === undefined ? undefined : text.slice(0, from) + plain + text.slice(end);
}

function withoutSequences(text: string): string | undefined {
	if (!NOT_LAYOUT.test(text)) return text;
	let isKnown = true;
	const plain = text.replace(SEQUENCE, (sequence, kind: string | undefined) => {
		if (kind === undefined && isInvisible(sequence)) return "";
		isKnown &&= kind !== undefined && LAYOUT.has(kind);
		return sequence;
	});
	return isKnown ? plain : undefined;
}

/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: this is what a terminal gets */
const COLOUR = /\x1b\[[\d;:]*m/g;

/** A sequence within another. What is left when one is removed could be taken for a third. */
const INTERRUPTED = /\x1b(?:\[[\d;:?]*|\][^\x07\x1b\n]*|\()?\x1b(?!\\)/;

/** Control characters that neither a {@link SEQUENCE} nor {@link MOVE} knows. */
const STRAY = /[\0-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/;

/** Any escape sequence, the letter of a plain control sequence in its group; or an escape alone. */
const SEQUENCE =
	/\x07|\x1b(?:\[[\d;:]*([A-Za-z])|\[\?[\d;]*[hl]|\](?:[012]|8;[^;\x07\x1b\n]*);[^\x07\x1b\n]*(?:\x07|\x1b\\)|[=>]|\(B)?/g;

/** A bell, or a sequence whose letter is not in {@link LAYOUT}. */
const NOT_LAYOUT = /\x07|\x1b(?!\[[\d;:]*[A-GJK])/;

/** Cursor, bracketed paste, keypad, line wrap, synchronized output: modes that change no text. */
const HARMLESS_MODE = /^\x1b\[\?(?:1|7|12|25|2004|2026)[hl]$/;

const MOVE = /\x1b\[([\d;:]*)([A-Za-z])|[\r\b]/g;

/** Moves to other lines. */
const VERTICAL = /\x1b\[[\d;:]*[ABEFJ]/;

/** Moves within a line. */
const MOVED = /[\x1b\b]|\r(?!\n)/g;

const BETWEEN_MOVES = /\x1b\[[\d;:]*[A-Za-z]|[\r\n\b]/;
/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above */

function isInvisible(sequence: string): boolean {
	if (sequence.startsWith("\x1b[?")) return HARMLESS_MODE.test(sequence);
	return sequence.length > 1 || sequence === "\x07";
}

/** Up, down, right, left, next line, previous line, column, erase below, erase in line. */
const LAYOUT: ReadonlySet<string> = new Set("ABCDEFGJK");

/** Thrown within this file only. */
class Doubt extends Error {}

/** Characters that take one column in every terminal. */
const NARROW =
	/^[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u058f\u2010-\u2027\u2030-\u205e\u2190-\u2319\u231c-\u2328\u232b-\u23e8\u2500-\u25fc\u25ff\u2713\u2714\u2717\u2718\u2800-\u28ff]*$/;
const NARROW_TEXTS = new RegExp(NARROW.source.replace("[", "[\\r"));

/** No output that gets shorter by rendering has more blanks. */
const BLANKS_PER_UNIT = 4;

/** No program moves further to the right than this. */
const MAX_COLUMN = 10_000;

interface Row {
	/** As long as text was only appended. */
	text: string;
	/** One unit a column, from the first overwriting on. */
	cells: string[] | undefined;
	/** `\r` if the line end was `\r\n`. */
	end: string;
}

class Screen {
	readonly #rows: Row[] = [newRow()];
	#at = 0;
	/** In UTF-16 units, which are columns where {@link #cells} was called. */
	#column = 0;
	/** How many cells may still be made blank. A move of a few characters can ask for thousands. */
	#blanks = 0;

	show(text: string): string[] {
		this.#blanks = text.length * BLANKS_PER_UNIT;
		const lines = text.split("\n");
		const last = lines.length - 1;
		for (let at = 0; at <= last; at++) {
			const line = lines[at] as string;
			const end = at < last && line.endsWith("\r") ? "\r" : "";
			this.#showLine(end === "" ? line : line.slice(0, -1));
			if (at === last) break;
			this.#row.end = end;
			this.#nextRow();
		}
		return this.#rows.map(({ text, cells, end }) => (cells ? cells.join("") : text) + end);
	}

	#showLine(line: string): void {
		let shown = 0;
		MOVE.lastIndex = 0;
		for (let move = MOVE.exec(line); move; move = MOVE.exec(line)) {
			this.#write(line.slice(shown, move.index));
			this.#move(move[0], move[1] ?? "", move[2]);
			shown = MOVE.lastIndex;
		}
		this.#write(line.slice(shown));
	}

	#nextRow(): void {
		this.#column = 0;
		this.#at++;
		if (this.#at === this.#rows.length) this.#rows.push(newRow());
	}

	get #row(): Row {
		return this.#rows[this.#at] as Row;
	}

	#write(text: string): void {
		if (text === "") return;
		const row = this.#row;
		if (!row.cells && this.#column === row.text.length) {
			row.text += text;
			this.#column += text.length;
			return;
		}
		if (!NARROW.test(text)) throw new Doubt();
		const cells = this.#cells();
		this.#blanks -= Math.max(0, this.#column - cells.length);
		if (this.#blanks < 0) throw new Doubt();
		while (cells.length < this.#column) cells.push(" ");
		for (let at = 0; at < text.length; at++) cells[this.#column++] = text[at] as string;
	}

	/** The columns of the current row. */
	#cells(): string[] {
		const row = this.#row;
		if (row.cells) return row.cells;
		if (!NARROW.test(row.text)) throw new Doubt();
		row.cells = row.text.split("");
		return row.cells;
	}

	#move(sequence: string, parameter: string, kind: string | undefined): void {
		if (!/^\d{0,5}$/.test(parameter)) throw new Doubt();
		const number = Number(parameter);
		const steps = Math.max(1, number); // 0 and nothing mean 1
		switch (kind) {
			case undefined:
				if (sequence === "\b") this.#moveBy(-1);
				else this.#column = 0;
				break;
			case "A":
				this.#toRow(this.#at - steps);
				break;
			case "B":
				this.#toRow(this.#at + steps);
				break;
			case "C":
				this.#moveBy(steps);
				break;
			case "D":
				this.#moveBy(-steps);
				break;
			case "E":
				this.#column = 0;
				this.#toRow(this.#at + steps);
				break;
			case "F":
				this.#column = 0;
				this.#toRow(this.#at - steps);
				break;
			case "G":
				this.#column = 0;
				if (steps > 1) this.#moveBy(steps - 1);
				break;
			case "J":
				// Other modes erase what may have scrolled away.
				if (number !== 0) throw new Doubt();
				this.#rows.length = this.#at + 1;
				this.#erase(0);
				break;
			default:
				this.#erase(number);
		}
	}

	#toRow(at: number): void {
		if (at < 0 || at >= this.#rows.length) throw new Doubt();
		if (this.#column !== 0) this.#cells();
		this.#at = at;
		if (this.#column !== 0) this.#cells();
	}

	#moveBy(columns: number): void {
		this.#cells();
		this.#column = Math.max(0, this.#column + columns);
		if (this.#column > MAX_COLUMN) throw new Doubt();
	}

	#erase(mode: number): void {
		const row = this.#row;
		if (mode > 2) throw new Doubt();
		if (this.#column === 0 && mode !== 1) {
			row.text = "";
			row.cells = undefined;
			return;
		}
		const cells = this.#cells();
		if (mode === 0) cells.length = Math.min(cells.length, this.#column);
		else if (mode === 1) this.#blank(cells);
		else cells.length = 0;
	}

	#blank(cells: string[]): void {
		this.#blanks -= Math.min(cells.length, this.#column + 1);
		if (this.#blanks < 0) throw new Doubt();
		cells.fill(" ", 0, this.#column + 1);
	}
}

function newRow(): Row {
	return { text: "", cells: undefined, end: "" };
}

/** Whether a line that reported a problem was overwritten or erased. */
function hasLostProblem(text: string, rows: readonly string[]): boolean {
	if (!reportsProblem(text)) return false;
	const problems = text.split(BETWEEN_MOVES).filter(reportsProblem);
	if (problems.length === 0) return false;
	const shown = new Set(rows.map((row) => row.trim()));
	return problems.some((part) => !shown.has(part.trim()));
}
