/** A second, simple reader of unified diffs, so that the law does not rest on the code it judges. */
export interface AppliedDiff {
	text: string;
	/** What the diff said about lines `from` to `to - 1` (counted from 0) of the base: they are now `lines`. */
	hunks: { from: number; to: number; lines: string[] }[];
}

/** Applies a diff to the text it was made for; throws when it does not fit. */
export function applyDiff(base: string, diff: string): AppliedDiff {
	const rows = diff.split("\n");
	if (rows.pop() !== "") throw new Error("the diff does not end with a newline");
	if (!rows.shift()?.startsWith("--- a/")) throw new Error("no --- row");
	if (!rows.shift()?.startsWith("+++ b/")) throw new Error("no +++ row");
	// Lines with their newline: only the last may lack it.
	const before = base.match(/[^\n]*\n|[^\n]+$/g) ?? [];
	const after: string[] = [];
	const hunks: AppliedDiff["hunks"] = [];
	let at = 0;
	while (rows.length > 0) {
		const header = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(rows.shift() as string);
		if (!header) throw new Error("no hunk header where one should be");
		const [oldStart, oldCount, newStart, newCount] = header.slice(1).map(Number) as [
			number,
			number,
			number,
			number,
		];
		const from = oldCount === 0 ? oldStart : oldStart - 1;
		if (from < at || from > before.length) throw new Error(`hunk at ${oldStart} is out of place`);
		after.push(...before.slice(at, from));
		if (after.length !== (newCount === 0 ? newStart : newStart - 1)) {
			throw new Error(`hunk at ${oldStart} puts the new lines in the wrong place`);
		}
		at = from;
		const shown: string[] = [];
		while (at - from < oldCount || shown.length < newCount) {
			const row = rows.shift();
			if (row === undefined) throw new Error("a hunk is cut off");
			let line = `${row.slice(1)}\n`;
			if (rows[0] === "\\ No newline at end of file") {
				rows.shift();
				line = line.slice(0, -1);
			}
			if (row[0] === " " || row[0] === "-") {
				if (before[at] !== line) throw new Error(`line ${at + 1} of the base is another`);
				at++;
			}
			if (row[0] === " " || row[0] === "+") shown.push(line);
			if (!" -+".includes(row[0] ?? "?")) throw new Error(`a row begins with ${row[0]}`);
		}
		if (at - from !== oldCount || shown.length !== newCount) throw new Error("wrong hunk counts");
		after.push(...shown);
		hunks.push({ from, to: at, lines: shown.map((line) => line.replace(/\n$/, "")) });
	}
	after.push(...before.slice(at));
	const text = after.join("");
	if (after.slice(0, -1).some((line) => !line.endsWith("\n"))) {
		throw new Error("text follows a line without newline");
	}
	// Pi counts the nothing after a final newline as a line: a hunk at the end speaks about it too.
	const last = hunks.at(-1);
	if (last?.to === before.length) {
		if (base === "" || base.endsWith("\n")) last.to++;
		if (text === "" || text.endsWith("\n")) last.lines.push("");
	}
	return { text, hunks };
}
