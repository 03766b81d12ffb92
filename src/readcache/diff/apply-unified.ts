/** Applies a unified diff exactly: no fuzz, no offsets, every count and line checked. */

import { NO_FINAL_NEWLINE } from "./lines.ts";
import { runAtOnce, type Steps } from "./slices.ts";

/** Accepts the output of `unifiedDiff` only. Throws where the diff is malformed or does not fit. */
export function applyUnified(base: string, diffText: string): string {
	return runAtOnce(applySteps(base, diffText));
}

export function* applySteps(base: string, diffText: string): Steps<string> {
	const rows = createRows(diffText);
	if (!rows.next().startsWith("--- ")) throw rows.error('should begin with "--- "');
	if (!rows.next().startsWith("+++ ")) throw rows.error('should begin with "+++ "');

	const output: string[] = [];
	let ended = false; // a line without newline was written, so nothing may follow
	const write = (text: string) => {
		if (ended && text !== "") throw rows.error("lets text follow a line without newline");
		output.push(text);
	};
	let at = 0; // next character of the base
	let baseLine = 0;
	let currentLine = 0;
	let units = 0;
	do {
		const hunk = parseHunkHeader(rows);
		const from = at;
		for (; baseLine < hunk.baseStart; baseLine++, currentLine++) {
			const end = base.indexOf("\n", at);
			if (end === -1) throw rows.error(`starts after the last line, ${baseLine}, of the base`);
			at = end + 1;
			if (baseLine % 4096 === 4095) yield 4096 * 12;
		}
		if (baseLine !== hunk.baseStart) throw rows.error("overlaps the hunk before");
		if (currentLine !== hunk.currentStart) throw rows.error("places the new lines wrongly");
		write(base.slice(from, at));

		let toRemove = hunk.baseCount;
		let toAdd = hunk.currentCount;
		while (toRemove > 0 || toAdd > 0) {
			const row = rows.next();
			const sign = row[0];
			if (sign !== " " && sign !== "-" && sign !== "+") {
				throw rows.error('should begin with " ", "-" or "+"');
			}
			const terminated = !rows.skipNote();
			if (!terminated && row.length === 2) throw rows.error("is an empty line without newline");
			const line = terminated ? row.slice(1) : row.slice(1, -1);
			if (sign !== "+") {
				const fits = base.startsWith(line, at) && (terminated || at + line.length === base.length);
				if (!fits) throw rows.error(`differs from line ${baseLine + 1} of the base`);
				at += line.length;
				baseLine++;
				toRemove--;
			}
			if (sign !== "-") {
				write(line);
				ended = !terminated;
				currentLine++;
				toAdd--;
			}
			if (toRemove < 0 || toAdd < 0) throw rows.error("is more than its hunk announced");
			units += 100 + (line.length >> 1);
			if (units < 50_000) continue;
			yield units;
			units = 0;
		}
	} while (!rows.done());
	write(base.slice(at));
	yield base.length >> 3;
	return output.join("");
}

function createRows(diffText: string) {
	let at = 0;
	let row = 0;
	const error = (problem: string) => new Error(`Row ${row} of the diff ${problem}`);
	return {
		error,
		done: () => at === diffText.length,
		next(): string {
			row++;
			const end = diffText.indexOf("\n", at);
			if (end === -1) throw error("is missing or cut off");
			const text = diffText.slice(at, end + 1);
			at = end + 1;
			return text;
		},
		skipNote(): boolean {
			if (diffText[at] !== "\\") return false;
			if (!diffText.startsWith(`${NO_FINAL_NEWLINE}\n`, at)) return false;
			row++;
			at += NO_FINAL_NEWLINE.length + 1;
			return true;
		},
	};
}

function parseHunkHeader(rows: ReturnType<typeof createRows>) {
	const match = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n$/.exec(rows.next());
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
	// Lines before the hunk. An empty side names the line before it, not its first one.
	return {
		baseStart: baseCount === 0 ? baseStart : baseStart - 1,
		baseCount,
		currentStart: currentCount === 0 ? currentStart : currentStart - 1,
		currentCount,
	};
}
