import type * as Index from "../codeindex/index.ts";
import { bytesOf } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Colours, coloursFor } from "./colours.ts";
import { type OptionValues, UsageError } from "./command.ts";

/** About 200 lines. */
const DEFAULT_MAX_BYTES = 16_000;
const LEAST_BYTES = 200;

/** What `--all` and `--max-bytes` allow. */
export function maxBytesIn(options: OptionValues): number {
	const given = options["max-bytes"];
	if (options.all && given !== undefined) {
		throw new UsageError("--all and --max-bytes exclude each other");
	}
	if (options.all) return Number.POSITIVE_INFINITY;
	if (given === undefined) return DEFAULT_MAX_BYTES;
	const bytes = Number(given);
	if (/^\d{1,9}$/.test(String(given)) && bytes >= LEAST_BYTES) return bytes;
	throw new UsageError(
		`--max-bytes must be a whole number of at least ${LEAST_BYTES}, got "${given}"`,
	);
}

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

interface Shown {
	/** A path as the user writes it. */
	show(path: string): string;
	readonly colours: Colours;
}

/** One line for each place, as `path:line: text`: terminals make a link of it. */
export function searchLines(
	{ hits }: Index.AnswerOf<"search">,
	{ show, colours }: Shown,
): string[] {
	return hits.flatMap((hit) => {
		const path = oneLine(show(hit.path));
		const at = (line: number) => `${colours.path(path)}${colours.place(`:${line}:`)}`;
		const symbols = hit.symbols.map(({ line, signature }) => `${at(line)} ${oneLine(signature)}`);
		const known = new Set(hit.symbols.map(({ line }) => line));
		const lines = hit.lines.flatMap(({ first, text, matches }) =>
			matches
				.filter((line) => !known.has(line))
				.map((line) => `${at(line)} ${oneLine((text[line - first] ?? "").trim())}`),
		);
		const found = [...symbols, ...lines];
		return found.length > 0 ? found : [colours.path(path)];
	});
}

/** One line for each place. Definitions come first, each with its usages behind it. */
export function usageLines(
	{ definitions }: Index.AnswerOf<"usages">,
	{ show, colours }: Shown,
): string[] {
	const at = ({ path, line, column }: { path: string; line: number; column: number }) =>
		`${colours.path(oneLine(show(path)))}${colours.place(`:${line}:${column}:`)}`;
	return definitions.flatMap((definition) => [
		`${at(definition)} ${colours.heading(`${definition.kind}, defined here`)} ${oneLine(definition.signature)}`,
		...definition.usages.map(
			(usage) => `${at(usage)} ${usage.kind}${usage.isTest ? " (test)" : ""}`,
		),
		...possibleNote(definition, colours),
	]);
}

function possibleNote({ possible }: Index.Definition, { soft }: Colours): string[] {
	if (!possible) return [];
	return [soft(`  ${grouped(possible.count)} more places may be usages: values of unknown type`)];
}

export const PLAIN = coloursFor(false);
