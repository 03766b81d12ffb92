import { bytesOf } from "../text/clip.ts";
import { counted } from "../text/figures.ts";
import type { Colours } from "./colours.ts";

/** Whole lines up to a size; a last line says how many are missing, and how to get them. */
export function boundedLines(lines: readonly string[], maxBytes: number): string[] {
	const ends: number[] = [];
	for (const line of lines) ends.push((ends.at(-1) ?? 0) + bytesOf(line) + 1);
	if ((ends.at(-1) ?? 0) <= maxBytes) return [...lines];
	const shown = Math.max(
		1,
		ends.findIndex((end) => end > maxBytes - NOTE_BYTES),
	);
	const more = counted(lines.length - shown, "more line");
	return [...lines.slice(0, shown), `… ${more}; --all prints everything`];
}

const NOTE_BYTES = 60;

/** Matches a path with an ending, and a line or line and column behind it. */
const PATH = /(?<![\w./-])((?:\.{0,2}\/)?[\w@.()[\]-]+(?:\/[\w@.()[\]-]+)+\.\w+)(:\d+(?::\d+)?)?/g;

/** Colours for the text that is printed without a terminal too. */
export function colouredLine(line: string, colours: Colours): string {
	if (/^\[.*\]$/.test(line) || line.startsWith("… ")) return colours.soft(line);
	if (/^\S.*:$/.test(line)) return colours.heading(line);
	return line.replace(PATH, (_, path: string, place = "") => {
		return colours.path(path) + (place && colours.place(place));
	});
}
