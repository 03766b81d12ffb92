/** Texts whose lines are numbered by the agent: `12⇥text`. */

const REFERENCE = /^\[strata: lines (\d+)-(\d+) of /;
const FULL_TEXT = "; full text: read ";
const NUMBERED_LINE = /^(\d{1,9})\t/;

export function numbered(content: string, firstLine: number): string {
	return content
		.split("\n")
		.map((line, index) => `${firstLine + index}\t${line}`)
		.join("\n");
}

/** The lines without their numbers; `undefined` if they are not numbered one after the other. */
export function unnumbered(text: string): { content: string; firstLine: number } | undefined {
	const firstLine = Number(NUMBERED_LINE.exec(text)?.[1]);
	const content = text.replace(/^\d+\t/gm, "");
	return numbered(content, firstLine) === text ? { content, firstLine } : undefined;
}

/** The text with references at the start of their lines, as the engine writes them. */
export function withPlainReferences(text: string): string {
	if (!text.includes("\t[strata: lines ")) return text;
	return text.replace(/^\d+\t(?=\[strata: lines )/gm, "");
}

/** Whether a numbered text has a line that looks like one of ours. */
export function hasNumberedLookalike(text: string): boolean {
	return text.includes("\t[strata: ") && /^\d+\t\[strata: /m.test(text);
}

/**
 * A numbered text of which only the first and the last lines are references, since the agent counts each
 * reference as one line: all lines in between keep their numbers, as in `original`. References in between
 * are replaced by their lines. `undefined` if none is left.
 */
export function fitNumbered(short: string, original: string, path: string): string | undefined {
	const all = original.split("\n");
	const firstLine = Number(NUMBERED_LINE.exec(original)?.[1]);
	const shown = short.split("\n");
	const [lead, tail] = [shown[0] ?? "", shown.length > 1 ? (shown.at(-1) ?? "") : ""];
	const [above, below] = [linesIn(lead), linesIn(tail)];
	if (above + below === 0 || above + below > all.length) return undefined;
	const kept = all.slice(above, all.length - below).map((line) => line.replace(NUMBERED_LINE, ""));
	// The engine names the path in the first reference, which may not be left.
	const withPath = (line: string) =>
		line.includes(FULL_TEXT) ? line : line.replace(/\]$/, () => `${FULL_TEXT}${path}]`);
	const lines = [
		...(above > 0 ? [withPath(lead)] : []),
		...kept,
		...(below > 0 ? [above > 0 ? tail : withPath(tail)] : []),
	];
	return numbered(lines.join("\n"), above > 0 ? firstLine + above - 1 : firstLine);
}

/** How many lines a line stands for, if it is a reference. */
function linesIn(line: string): number {
	const [, first, last] = REFERENCE.exec(line) ?? [];
	return first === undefined ? 0 : Number(last) - Number(first) + 1;
}
