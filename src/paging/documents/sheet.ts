/** Maximum cells of one sheet. The text reports how many are omitted. */
const MAX_CELLS = 1_000_000;
export const MAX_COLUMNS = 500;

/** Writes rows as a Markdown table, without rows and columns that are empty. The first row is the header. */
export class SheetWriter {
	readonly #rows: string[][] = [];
	#row: string[] = [];
	#cells = 0;
	#width = 0;
	#isCut = false;
	#isFull = false;

	/** Sets the cell of the current row; `column` counts from 0. */
	cell(column: number, text: string): void {
		if (text === "") return;
		if (column >= MAX_COLUMNS || this.#cells >= MAX_CELLS) {
			this.#isCut = true;
			this.#isFull = this.#cells >= MAX_CELLS;
			return;
		}
		while (this.#row.length < column) this.#row.push("");
		this.#row[column] = cellText(text);
		this.#cells++;
	}

	/** Ends the current row, which may stand for several. */
	endRow(repeat = 1): void {
		if (this.#row.length > 0) {
			this.#rows.push(this.#row);
			for (let i = 1; i < repeat; i++) {
				this.#cells += this.#row.length;
				if (this.#cells > MAX_CELLS) {
					this.#isCut = true;
					break;
				}
				this.#rows.push(this.#row);
			}
			this.#width = Math.max(this.#width, this.#row.length);
		}
		this.#row = [];
	}

	/** True once a cell was left out because no more are read; a row that is too wide leaves room for the next one. */
	get isFull(): boolean {
		return this.#isFull;
	}

	finish(): string {
		this.endRow();
		if (this.#rows.length === 0) return "";
		const used = new Uint8Array(this.#width);
		for (const row of this.#rows)
			for (const [i, text] of row.entries()) if (text !== "") used[i] = 1;
		const columns = [...used.keys()].filter((i) => used[i] === 1);
		const line = (row: readonly string[]) => {
			// Short rows stay short: padding a thousand of them to the width of one costs too much.
			let text = "|";
			for (const i of columns) {
				if (i >= row.length) break;
				text += ` ${row[i] ?? ""} |`;
			}
			return text;
		};
		const [first = [], ...rest] = this.#rows;
		const header = `|${columns.map((i) => ` ${first[i] ?? ""} |`).join("")}`;
		const rule = `|${columns.map(() => " --- |").join("")}`;
		const lines = [header, rule, ...rest.map(line)];
		if (this.#isCut) lines.push("", "[The sheet has more cells than are read.]");
		return lines.join("\n");
	}
}

export function sheetHeading(name: string, isHidden: boolean): string {
	return `## ${name.replace(/\s+/g, " ").slice(0, 100)}${isHidden ? " (hidden)" : ""}`;
}

/** Comments on cells of a sheet, one a line; an empty string if there are none. */
export function commentList(comments: readonly (readonly [cell: string, text: string])[]): string {
	const lines = comments
		.map(([cell, text]) => `- ${cell}: ${cellText(text).trim()}`)
		.filter((line) => !line.endsWith(": "));
	return lines.length === 0 ? "" : ["Comments:", "", ...lines].join("\n");
}

/** A text as it can stand in a cell. */
export function cellText(text: string): string {
	return /[\n\r|<]/.test(text)
		? text
				.trim()
				.replace(/\s*[\r\n]+\s*/g, " ")
				.replaceAll("|", "\\|")
				.replace(/<(?=[A-Za-z/!?])/g, "&lt;")
		: text.trim();
}

/** Longer addresses carry data. */
const MAX_ADDRESS = 2000;

/** A cell that links to an address. */
export function cellLink(text: string, address: string): string {
	if (address.length > MAX_ADDRESS) return text;
	const target = address.replace(/[\s()<>\\]/g, (sign) =>
		encodeURIComponent(sign).replace(/[()]/, (bracket) => (bracket === "(" ? "%28" : "%29")),
	);
	return text === "" || text === address
		? target
		: `[${text.replace(/[[\]]/g, "\\$&")}](${target})`;
}

/** Excel's own line about the separator. */
const SEPARATOR_LINE = /^sep=([,;|\t])\r?\n/i;

/** Writes values separated by commas, semicolons, tabs or bars as a table. Quotes may hold separators and line ends. */
export function csvToMarkdown(text: string): string {
	const sheet = new SheetWriter();
	const [line = "", named] = SEPARATOR_LINE.exec(text) ?? [];
	const separatorCode = (named ?? separatorOf(text)).charCodeAt(0);
	let at = line.length;
	let column = 0;
	while (at < text.length && !sheet.isFull) {
		let value: string;
		if (text.charCodeAt(at) === QUOTE) {
			const parts: string[] = [];
			let from = at + 1;
			for (;;) {
				const end = text.indexOf('"', from);
				parts.push(text.slice(from, end === -1 ? text.length : end));
				if (end === -1) from = text.length;
				else from = end + 1;
				if (text.charCodeAt(from) !== QUOTE) break;
				parts.push('"');
				from++;
			}
			at = from;
			const end = fieldEnd(text, at, separatorCode);
			value = parts.join("") + text.slice(at, end);
			at = end;
		} else {
			const end = fieldEnd(text, at, separatorCode);
			value = text.slice(at, end);
			at = end;
		}
		sheet.cell(column++, value);
		if (text.charCodeAt(at) === separatorCode) at++;
		else {
			if (text.charCodeAt(at) === 13) at++;
			if (text.charCodeAt(at) === 10) at++;
			sheet.endRow();
			column = 0;
		}
	}
	return sheet.finish();
}

const QUOTE = 34;

function fieldEnd(text: string, from: number, separator: number): number {
	let at = from;
	for (; at < text.length; at++) {
		const code = text.charCodeAt(at);
		if (code === separator || code === 10 || code === 13) break;
	}
	return at;
}

/** The separator that most of the first lines have, and the same number of times. */
function separatorOf(text: string): string {
	// Quoted values may hold any sign, and line ends.
	const start = text.slice(0, 10_000).replace(/(^|[,\t;|\r\n])"(?:[^"]|"")*(?:"|$)/g, "$1");
	// Beside another separator, a comma between digits is a decimal point.
	const lines = start
		.split(/\r\n?|\n/)
		.filter((line) => line.trim() !== "")
		.map((line) => (/[;\t]/.test(line) ? line.replace(/(?<=\d),(?=\d)/g, ".") : line));
	// The last line may be cut.
	const whole = lines.slice(0, lines.length > 1 && text.length > start.length ? -1 : undefined);
	const agreeing = (sign: string) => {
		const counts = new Map<number, number>();
		for (const line of whole.slice(0, 50)) {
			const count = line.split(sign).length - 1;
			if (count > 0) counts.set(count, (counts.get(count) ?? 0) + 1);
		}
		return Math.max(0, ...counts.values());
	};
	const first = (sign: string) => (whole[0]?.split(sign).length ?? 1) - 1;
	// Of two that fit, commas are more often text.
	return ["\t", ";", ",", "|"].reduce((best, sign) => {
		const [one, other] = [agreeing(sign), agreeing(best)];
		return one > other || (one === other && first(sign) > first(best)) ? sign : best;
	});
}
