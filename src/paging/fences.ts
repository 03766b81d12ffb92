/** Where the fenced code blocks of a text are. */
export interface Fences {
	/** Whether a cut here would go through a code block: behind its opening line and before the end of its closing one. */
	encloses(at: number): boolean;
}

/**
 * Finds the fenced code blocks of a markdown text, also in quotes and list items. An opening line that nothing
 * closes opens nothing, so one stray fence does not turn the rest of a plain text into code.
 *
 * Linear, and quick because it jumps from fence to fence: 10 MB of markdown with 30,000 fence lines take about 10 ms.
 */
export function findFences(text: string): Fences {
	const opens: number[] = [];
	const closes: number[] = [];
	let open: FenceLine | undefined;
	for (const line of fenceLines(text)) {
		if (!open) {
			if (line.mayOpen) open = line;
		} else if (line.mayClose && line.mark === open.mark && line.length >= open.length) {
			opens.push(open.start);
			closes.push(line.end);
			open = undefined;
		}
	}
	return {
		encloses(at) {
			const block = countBelow(opens, at) - 1;
			return block >= 0 && at < (closes[block] as number);
		},
	};
}

/**
 * More lines with fence marks than this are not examined; code behind them is cut like text. No document has them, and
 * a hostile one could stall its caller: so the scan of 10 MB stays below some 30 ms.
 */
const maxExaminedLines = 50_000;

type FenceLine = {
	/** Where the line begins, and where the next one does. */
	start: number;
	end: number;
	mark: string;
	length: number;
	mayOpen: boolean;
	mayClose: boolean;
};

function* fenceLines(text: string): Generator<FenceLine> {
	let backticks = text.indexOf("```");
	let tildes = text.indexOf("~~~");
	for (let examined = 0; examined < maxExaminedLines; examined++) {
		const at = backticks < 0 || (tildes >= 0 && tildes < backticks) ? tildes : backticks;
		if (at < 0) return;
		const newline = text.indexOf("\n", at);
		const end = newline < 0 ? text.length : newline + 1;
		const line = fenceLine(text, at, end);
		if (line) yield line;
		// On to the next line, so that a line of a million fences is looked at once.
		if (backticks >= 0 && backticks < end) backticks = text.indexOf("```", end);
		if (tildes >= 0 && tildes < end) tildes = text.indexOf("~~~", end);
	}
}

/** What may stand before a fence: indentation, quote marks, one list marker. */
const prefix = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/;
/** A longer prefix is no fence's; this keeps the pattern from running over a huge line. */
const maxPrefix = 64;

/** The line that ends at `end` and has its first three fence marks at `at`, if it is one of a fence. */
function fenceLine(text: string, at: number, end: number): FenceLine | undefined {
	const start = text.lastIndexOf("\n", at) + 1;
	if (at - start > maxPrefix || !prefix.test(text.slice(start, at))) return undefined;
	const mark = text.charAt(at);
	let behind = at + 3;
	while (text.charAt(behind) === mark) behind++;
	const info = text.slice(behind, end);
	return {
		start,
		end,
		mark,
		length: behind - at,
		// "```like this```" on one line is code within a sentence.
		mayOpen: mark === "~" || !info.includes("`"),
		mayClose: info.trim() === "",
	};
}

/** How many of the ascending numbers are smaller. */
function countBelow(numbers: readonly number[], bound: number): number {
	let low = 0;
	let high = numbers.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((numbers[middle] as number) < bound) low = middle + 1;
		else high = middle;
	}
	return low;
}
