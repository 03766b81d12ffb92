import type { MatchingLines, SearchAnswer, SearchHit, SymbolBrief } from "../codeindex/index.ts";
import { clip } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Advice, type Outline, type Reader, remark, whyNothingIndexed } from "./outline.ts";
import type { SearchInput } from "./tools.ts";

export function searchForms(
	answer: SearchAnswer,
	input: SearchInput,
	{ show, advice }: Reader,
): (() => Outline)[] {
	if (answer.hits.length === 0) {
		return [() => [remark(...nothingFound(answer, input, advice))]];
	}
	const item = {
		snippet: (hit: SearchHit) => [
			title(hit),
			...symbolLines(hit, 3),
			...hit.lines.flatMap(excerpt),
		],
		matches: (hit: SearchHit) => [title(hit), ...symbolLines(hit, 3), ...matchLines(hit, 10)],
		compact: (hit: SearchHit) => [title(hit), ...best(hit, 3)],
		lean: (hit: SearchHit) => [title(hit), ...best(hit, 1)],
		brief: (hit: SearchHit) => [title(hit) + places(hit)],
		paths: (hit: SearchHit) => [title(hit)],
	};
	const form = (lines: (hit: SearchHit) => string[]) => () => [
		{ head: [heading(answer, input)], items: answer.hits.map((hit) => lines(hit).join("\n")) },
	];
	return FORMS[input.output].map((name) => form(item[name]));

	function title(hit: SearchHit): string {
		return `${oneLine(show(hit.path))}${hit.isTest ? " (test)" : ""}`;
	}
}

const FORMS = {
	snippet: ["snippet", "matches", "compact", "lean", "brief", "paths"],
	compact: ["compact", "lean", "brief", "paths"],
	paths: ["paths"],
} as const satisfies Record<SearchInput["output"], string[]>;

const LINE_BYTES = 140;

function heading({ hits, total, atLeast, inexact }: SearchAnswer, { query }: SearchInput): string {
	const shown = hits.length < total ? `${grouped(hits.length)} of ` : "";
	const all = `${atLeast ? "at least " : ""}${counted(total, "file")}`;
	if (inexact)
		return `No file contains ${quoted(query)}; ${shown}${all} with parts of it, best first`;
	return `${shown}${all} for ${quoted(query)}, best first`;
}

function nothingFound({ coverage }: SearchAnswer, input: SearchInput, advice: Advice): string[] {
	const nothing = whyNothingIndexed(coverage, advice);
	if (nothing) return [nothing];
	const { filters, scope } = input;
	const tries = [
		...(Object.keys(filters).length > 0 ? [advice.withoutFilters] : []),
		...(scope.length < 2 ? ['with scope ["code","symbols"]'] : []),
		"with fewer or shorter words (beginnings of words match)",
	];
	const within = Object.keys(filters).length > 0 ? " within the filters" : "";
	return [
		`Nothing matches ${quoted(input.query)}${within}. Only indexed source is searched: no other file types, nothing git ignores.`,
		`Try ${tries.join(", or ")}; grep finds exact text.`,
	];
}

function quoted(query: string): string {
	return `"${clip(oneLine(query), 120)}"`;
}

/** Declarations say more than matching lines. */
function best(hit: SearchHit, most: number): string[] {
	return hit.symbols.length > 0 ? symbolLines(hit, most) : matchLines(hit, 1);
}

function symbolLines({ symbols }: SearchHit, most: number): string[] {
	return symbols.slice(0, most).map((symbol) => `  ${symbol.line} ${symbolText(symbol)}`);
}

/** One line: the signature, prefixed with a member's owner. */
export function symbolText({ signature, kind, name, owner }: SymbolBrief): string {
	const head = oneLine(signature.trim() || `${kind} ${name}`);
	return clip(owner ? `${oneLine(owner)}: ${head}` : head, LINE_BYTES);
}

function matchLines({ symbols, lines, matchingLines }: SearchHit, most: number): string[] {
	const declared = new Set(symbols.map(({ line }) => line));
	const matches = lines
		.flatMap(({ first, text, matches }) =>
			matches.map((line) => ({ line, text: text[line - first] ?? "" })),
		)
		.filter(({ line }) => !declared.has(line));
	const shown = matches.slice(0, most).map(({ line, text }) => `  ${line}: ${code(text.trim())}`);
	const more = (matchingLines ?? 0) - symbols.length - shown.length;
	const last = shown.pop();
	return last === undefined
		? []
		: [...shown, more > 0 ? `${last}  (+${counted(more, "line")})` : last];
}

/** `12:` marks a match, `11-` a context line. */
function excerpt({ first, text, matches }: MatchingLines, index: number): string[] {
	const matching = new Set(matches);
	const lines = text.map((line, offset) => {
		const number = first + offset;
		return `  ${number}${matching.has(number) ? ":" : "-"} ${code(line)}`;
	});
	return index > 0 ? ["  --", ...lines] : lines;
}

function code(line: string): string {
	return clip(oneLine(line.trimEnd()), LINE_BYTES);
}

function places({ symbols, lines }: SearchHit): string {
	const names = symbols.slice(0, 3).map(({ name, line }) => `${clip(oneLine(name), 60)}:${line}`);
	if (names.length > 0) return `  ${names.join(", ")}`;
	const numbers = lines.flatMap(({ matches }) => matches).slice(0, 3);
	return numbers.length > 0 ? `  line ${numbers.join(", ")}` : "";
}
