import type * as Index from "../codeindex/index.ts";
import type { Colours } from "../core/colours.ts";
import { grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";

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
