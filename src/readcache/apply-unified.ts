/** Applies a unified diff exactly: no fuzz, no offsets, every count and every line checked. */
import { runAtOnce, type Steps } from "./slices.ts";
import { noFinalNewline } from "./split-lines.ts";

/**
 * The text that `diffText` makes of `base`. Accepts what `unifiedDiff` writes: one file, hunk headers with
 * all four numbers, every row ended by a newline. Throws where the diff is malformed or does not fit.
 */
export function applyUnified(base: string, diffText: string): string {
	return runAtOnce(applySteps(base, diffText));
}

/** `applyUnified` as steps, for large texts. */
export function* applySteps(base: string, diffText: string): Steps<string> {
	const rows = createRows(diffText);
	if (!rows.next().startsWith("--- ")) throw rows.error('should begin with "--- "');
	if (!rows.next().startsWith("+++ ")) throw rows.error('should begin with "+++ "');

	const output: string[] = [];
	let at = 0; // next character of the base
	let baseLine = 0;
	let currentLine = 0;
	let ended = false; // a line without newline was written: nothing may follow
	while (!rows.done()) {
		const hunk = parseHunkHeader(rows);
		const from = at;
		for (; baseLine < hunk.baseStart; baseLine++, currentLine++) {
			const end = base.indexOf("\n", at);
			if (end === -1) throw rows.error(`starts after the last line, ${baseLine}, of the base`);
			at = end + 1;
			if (baseLine % 8192 === 8191) yield 8192 * 12;
		}
		if (baseLine !== hunk.baseStart) throw rows.error("overlaps the hunk before");
		if (currentLine !== hunk.currentStart) throw rows.error("places the new lines wrongly");
		output.push(base.slice(from, at));
		yield at - from;

		let toRemove = hunk.baseCount;
		let toAdd = hunk.currentCount;
		while (toRemove > 0 || toAdd > 0) {
			const row = rows.next();
			const sign = row[0];
			if (sign !== " " && sign !== "-" && sign !== "+") {
				throw rows.error('should begin with " ", "-" or "+"');
			}
			const terminated = !rows.skip(noFinalNewline);
			if (!terminated && row.length === 1) throw rows.error("is an empty line without newline");
			const line = terminated ? `${row.slice(1)}\n` : row.slice(1);
			if (sign !== "+") {
				const fits = base.startsWith(line, at) && (terminated || at + line.length === base.length);
				if (!fits) throw rows.error(`differs from line ${baseLine + 1} of the base`);
				at += line.length;
				baseLine++;
				toRemove--;
			}
			if (sign !== "-") {
				if (ended) throw rows.error("follows a line without newline");
				output.push(line);
				ended = !terminated;
				currentLine++;
				toAdd--;
			}
			if (toRemove < 0 || toAdd < 0) throw rows.error("is more than its hunk announced");
			if ((baseLine + currentLine) % 4096 === 0) yield 4096 * 80;
		}
	}
	if (ended && at < base.length) throw rows.error("ends the text before the base ends");
	output.push(base.slice(at));
	yield base.length;
	return output.join("");
}

/** The rows of a diff, read one by one. */
function createRows(diffText: string) {
	let at = 0;
	let row = 0;
	const error = (problem: string) =>
		new Error(`Row ${row} of the diff ${problem}; read the file instead`);
	return {
		error,
		done: () => at === diffText.length,
		next(): string {
			row++;
			const end = diffText.indexOf("\n", at);
			if (end === -1) throw error("is missing or cut off");
			const text = diffText.slice(at, end);
			at = end + 1;
			return text;
		},
		/** Passes over the next row if it is the given text. */
		skip(text: string): boolean {
			if (!diffText.startsWith(`${text}\n`, at)) return false;
			row++;
			at += text.length + 1;
			return true;
		},
	};
}

function parseHunkHeader(rows: ReturnType<typeof createRows>) {
	const match = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(rows.next());
	if (!match) throw rows.error('should be a hunk header like "@@ -1,3 +1,4 @@"');
	const [baseStart, baseCount, currentStart, currentCount] = match.slice(1).map(Number) as [
		number,
		number,
		number,
		number,
	];
	if (baseCount + currentCount === 0) throw rows.error("announces an empty hunk");
	if ((baseCount > 0 && baseStart === 0) || (currentCount > 0 && currentStart === 0)) {
		throw rows.error("counts lines from 0");
	}
	// Lines before the hunk. An empty side names the line it comes after instead of its first one.
	return {
		baseStart: baseCount === 0 ? baseStart : baseStart - 1,
		baseCount,
		currentStart: currentCount === 0 ? currentStart : currentStart - 1,
		currentCount,
	};
}
