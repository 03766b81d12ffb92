/** A line of a diff. `oldNumber`, `newNumber`: from 1; absent if the line is not in that version or unknown. */
export interface DiffLine {
	readonly kind: "same" | "added" | "removed" | "gap";
	readonly text: string;
	readonly oldNumber?: number;
	readonly newNumber?: number;
}

export interface Hunk {
	readonly oldStart: number;
	readonly newStart: number;
	readonly lines: readonly Pick<DiffLine, "kind" | "text">[];
}

const HEADER = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;
const KINDS = new Map([
	[" ", "same"],
	["+", "added"],
	["-", "removed"],
] as const);

/** Reads the hunks of a unified diff of one file. Undefined if it is damaged or has none. */
export function hunksOf(patch: string): Hunk[] | undefined {
	const hunks: (Hunk & { lines: Pick<DiffLine, "kind" | "text">[] })[] = [];
	let oldLeft = 0;
	let newLeft = 0;
	for (const line of patch.split("\n")) {
		const hunk = hunks.at(-1);
		if (hunk && (oldLeft > 0 || newLeft > 0)) {
			if (line.startsWith("\\")) continue; // no line feed at the end of the file
			// Some programs drop the space of an empty line.
			const kind = line === "" ? "same" : KINDS.get(line[0] as " ");
			if (!kind) return undefined;
			if (kind !== "added") oldLeft--;
			if (kind !== "removed") newLeft--;
			hunk.lines.push({ kind, text: line.slice(1) });
			continue;
		}
		const [, oldStart, oldLines = "1", newStart, newLines = "1"] = HEADER.exec(line) ?? [];
		if (oldStart === undefined || newStart === undefined) continue;
		oldLeft = Number(oldLines);
		newLeft = Number(newLines);
		// A range without lines names the line before it.
		hunks.push({
			oldStart: Number(oldStart) + (oldLeft === 0 ? 1 : 0),
			newStart: Number(newStart) + (newLeft === 0 ? 1 : 0),
			lines: [],
		});
	}
	return hunks.length === 0 || oldLeft !== 0 || newLeft !== 0 ? undefined : hunks;
}

/** The lines of hunks with their numbers, and a gap between hunks that are apart. */
export function numberedLines(hunks: readonly Hunk[]): DiffLine[] {
	const lines: DiffLine[] = [];
	for (const { oldStart, newStart, lines: own } of hunks) {
		if (lines.length > 0) lines.push({ kind: "gap", text: "" });
		let oldNumber = oldStart;
		let newNumber = newStart;
		for (const { kind, text } of own) {
			if (kind === "added") lines.push({ kind, text, newNumber: newNumber++ });
			else if (kind === "removed") lines.push({ kind, text, oldNumber: oldNumber++ });
			else lines.push({ kind, text, oldNumber: oldNumber++, newNumber: newNumber++ });
		}
	}
	return lines;
}

/** A replacement as a diff without numbers. Lines that both texts begin and end with stay. */
export function replacementLines(oldText: string, newText: string): DiffLine[] {
	const before = oldText.split("\n");
	const after = newText.split("\n");
	const most = Math.min(before.length, after.length);
	let start = 0;
	while (start < most && before[start] === after[start]) start++;
	let end = 0;
	while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
	const line = (kind: DiffLine["kind"]) => (text: string) => ({ kind, text });
	return [
		...before.slice(0, start).map(line("same")),
		...before.slice(start, before.length - end).map(line("removed")),
		...after.slice(start, after.length - end).map(line("added")),
		...before.slice(before.length - end).map(line("same")),
	];
}

/** The numbered lines as a unified diff that `patch` and `git apply` accept. */
export function unifiedDiff(path: string, lines: readonly DiffLine[], isNew = false): string {
	const hunks: DiffLine[][] = [[]];
	for (const line of lines) {
		if (line.kind === "gap") hunks.push([]);
		else hunks.at(-1)?.push(line);
	}
	const text = hunks.filter((own) => own.length > 0).map(hunkText);
	return `--- ${isNew ? "/dev/null" : `a/${path}`}\n+++ b/${path}\n${text.join("")}`;
}

function hunkText(lines: readonly DiffLine[]): string {
	const range = (side: "oldNumber" | "newNumber") => {
		const own = lines.flatMap((line) => line[side] ?? []);
		return `${own[0] ?? 0},${own.length}`;
	};
	const signs = { same: " ", added: "+", removed: "-", gap: "" };
	const body = lines.map(({ kind, text }) => `${signs[kind]}${text}\n`).join("");
	return `@@ -${range("oldNumber")} +${range("newNumber")} @@\n${body}`;
}
