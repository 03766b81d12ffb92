import type {
	AnswerOf,
	Definition,
	FamilyMember,
	QueryOf,
	SearchHit,
	SymbolBrief,
	Usage,
} from "../codeindex/index.ts";
import { chunks } from "../core/chunks.ts";
import { clip } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import {
	type Advice,
	type Audience,
	byFolder,
	folderTotals,
	type Outline,
	remark,
	type Section,
	section,
	whyNothingIndexed,
} from "./outline.ts";
import type { SearchInput, UsagesInput } from "./tool-inputs.ts";

export function searchForms(
	answer: AnswerOf<"search">,
	input: SearchInput,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const { documents = [] } = answer;
	if (answer.hits.length + documents.length === 0) {
		return [() => [remark(...nothingFound(answer, input, advice))]];
	}
	const item = {
		snippet: (hit: SearchHit) => [
			nameOf(hit),
			...symbolLines(hit, 3),
			...hit.lines.flatMap(excerpt),
		],
		matches: (hit: SearchHit) => [nameOf(hit), ...symbolLines(hit, 3), ...matchLines(hit, 10)],
		compact: (hit: SearchHit) => [nameOf(hit), ...best(hit, 3)],
		lean: (hit: SearchHit) => [nameOf(hit), ...best(hit, 1)],
		brief: (hit: SearchHit) => [nameOf(hit) + places(hit)],
		paths: (hit: SearchHit) => [nameOf(hit)],
	};
	const form = (lines: (hit: SearchHit) => string[]) => () => [
		{ head: [heading(answer, input)], items: answer.hits.map((hit) => lines(hit).join("\n")) },
		...section("documents and settings", documents, (hit) => lines(hit).join("\n")),
	];
	return FORMS[input.output].map((name) => form(item[name]));

	function nameOf(hit: SearchHit): string {
		return `${oneLine(show(hit.path))}${hit.isTest ? " (test)" : ""}`;
	}
}

const FORMS = {
	snippet: ["snippet", "matches", "compact", "lean", "brief", "paths"],
	compact: ["compact", "lean", "brief", "paths"],
	paths: ["paths"],
} as const satisfies Record<SearchInput["output"], string[]>;

const LINE_BYTES = 140;

function heading({ hits, total, atLeast, inexact }: AnswerOf<"search">, { query }: SearchInput) {
	const shown = hits.length < total ? `${grouped(hits.length)} of ` : "";
	const all = `${atLeast ? "at least " : ""}${counted(total, "file")}`;
	if (inexact)
		return `No file contains ${quoted(query)}; ${shown}${all} with parts of it, best first`;
	return `${shown}${all} for ${quoted(query)}, best first`;
}

function nothingFound({ coverage }: AnswerOf<"search">, input: SearchInput, advice: Advice) {
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
		`Nothing matches ${quoted(input.query)}${within}. Sources, documents and settings are searched: no other file types, nothing git ignores.`,
		`Try ${tries.join(", or ")}; grep finds exact text.`,
	];
}

function quoted(query: string): string {
	return `"${clip(oneLine(query), 120)}"`;
}

/** Prefers declarations, which say more than matching lines. */
function best(hit: SearchHit, most: number): string[] {
	return hit.symbols.length > 0 ? symbolLines(hit, most) : matchLines(hit, 1);
}

function symbolLines({ symbols }: SearchHit, most: number): string[] {
	return symbols.slice(0, most).map((symbol) => `  ${symbol.line} ${symbolText(symbol)}`);
}

/** One line: the signature, prefixed with the owner of a member. */
function symbolText({ signature, kind, name, owner }: SymbolBrief): string {
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
function excerpt({ first, text, matches }: SearchHit["lines"][number], index: number): string[] {
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

/** Forms, fullest first: every place, by the symbol around it; lines by kind; counts by file; totals by folder or definition. */
export function usagesForms(
	answer: AnswerOf<"usages">,
	input: UsagesInput,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const definitions = answer.definitions.map((definition) => shown(definition, show));
	if (definitions.length === 0) {
		return [() => [remark(...nothingNamed(answer, input, advice))]];
	}
	const heading = remark(summary(answer, input), ...checkedBy(answer));
	const form =
		(items: (usages: readonly Usage[]) => string[], more?: (usages: readonly Usage[]) => Section) =>
		() => [
			heading,
			...definitions.flatMap((definition) => [
				{ head: describe(definition, input, advice), items: items(definition.usages) },
				...(more ? [more(definition.usages)] : []),
			]),
		];
	const lines = (usages: readonly Usage[]) => perFile(usages, linesOf);
	const isGrouped = definitions.some(({ usages }) => usages.some(({ within }) => within));
	return [
		form((usages) => perFile(usages, isGrouped ? groupsOf : placesOf)),
		form(lines),
		form(perFolder),
		definitions.length > SINGLE_PARTS
			? () => [heading, { head: [], items: oneLineEach(definitions) }]
			: form(lines, (usages) => ({
					head: ["  by folder:"],
					items: folderTotals(usages, "usage"),
				})),
	];
}

/** Above this many definitions, the shortest form has one line each instead of a section. */
const SINGLE_PARTS = 4;
const SIGNATURE_BYTES = 160;

function shown(definition: Definition, show: (path: string) => string): Definition {
	const { possible, family } = definition;
	const member = (one: FamilyMember) => ({ ...one, path: show(one.path) });
	return {
		...definition,
		path: show(definition.path),
		usages: definition.usages.map((usage) => ({ ...usage, path: show(usage.path) })),
		...(possible && { possible: { ...possible, files: possible.files.map(show) } }),
		...(family && {
			family: { ...family, above: family.above.map(member), below: family.below.map(member) },
		}),
	};
}

function summary(
	{ symbol, definitions, omittedDefinitions = 0 }: AnswerOf<"usages">,
	{ includeTests }: UsagesInput,
): string {
	const usages = definitions.flatMap((definition) => definition.usages);
	const defined = counted(definitions.length + omittedDefinitions, "definition");
	const omitted =
		omittedDefinitions > 0
			? ` (${grouped(definitions.length)} looked at: name a file, or Owner.member)`
			: "";
	const tests = includeTests ? "" : ", tests not counted";
	return `${clip(oneLine(symbol), 120)}: ${defined}${omitted}, ${inFiles(usages)}${tests}`;
}

function checkedBy({ checker }: AnswerOf<"usages">): string[] {
	if (!checker) return [];
	const { problem } = checker;
	if (problem === undefined) return ["members: by the type checker (tsc --lsp) and the index"];
	return [
		`members: by the index alone; the type checker was not used: ${clip(oneLine(problem), 200)}`,
	];
}

function inFiles(usages: readonly Usage[]): string {
	const files = new Set(usages.map(({ path }) => path)).size;
	return `${counted(usages.length, "usage")} in ${counted(files, "file")}`;
}

function title({ kind, owner, exported, path, line, column }: Definition): string {
	const member = owner ? ` of ${clip(oneLine(owner), 80)}` : "";
	return `${kind}${member} at ${oneLine(path)}:${line}:${column}${exported ? ", exported" : ""}`;
}

function describe(definition: Definition, input: UsagesInput, advice: Advice): string[] {
	const { signature, usages, possible, global, byName } = definition;
	const kinds = [...Map.groupBy(usages, ({ kind }) => kind)]
		.toSorted(([, a], [, b]) => b.length - a.length)
		.map(([kind, some]) => `${grouped(some.length)} ${kind}`);
	return [
		title(definition),
		...(signature ? [`  ${clip(oneLine(signature), SIGNATURE_BYTES)}`] : []),
		...(usages.length > 0 ? [`  ${inFiles(usages)}: ${kinds.join(", ")}`] : []),
		...(global
			? [`  ${GLOBAL}`]
			: usages.length === 0
				? [`  ${unused(input, advice, mayBeUsed(definition))}`]
				: []),
		...familyText(definition),
		...(possible && possible.count > 0 ? [`  ${maybe(possible)}`] : []),
		...(byName && usages.length > 0 ? [`  ${BY_NAME}`] : []),
	];
}

/** Usages of the members named here are counted unless they are apart; those of members beside them are not. */
function familyText({ family }: Definition): string[] {
	if (!family) return [];
	const named = (members: readonly FamilyMember[]) =>
		members
			.slice(0, FAMILY_NAMED)
			.map(({ name, path, line }) => `${clip(oneLine(name), 80)} (${oneLine(path)}:${line})`)
			.join(", ") + (members.length > FAMILY_NAMED ? ", …" : "");
	const { above, below, beside, apart } = family;
	const notCounted = apart ? "; their usages are not counted here" : "";
	const others = beside > 0 ? `, as ${counted(beside, "other")} do: ask for that one` : "";
	return [
		...(above.length > 0
			? [`  implements or overrides ${named(above)}${others}${notCounted}`]
			: []),
		...(below.length > 0
			? [`  implemented or overridden by ${grouped(below.length)}: ${named(below)}${notCounted}`]
			: []),
	];
}

const FAMILY_NAMED = 3;

const BY_NAME = "all places of this name: some may mean something else of the same name";
const GLOBAL = "this file's top level is global: uses in other files are not followed";

function unused({ includeTests }: UsagesInput, { countTests }: Advice, mayBeUsed: boolean): string {
	const tests = includeTests ? "" : `; tests are not counted, ${countTests}`;
	if (mayBeUsed) return `no usage is certain${tests}`;
	return `no usage found: it is unused, or used where that cannot be seen (computed access, outside the project)${tests}`;
}

function mayBeUsed({ possible, family }: Definition): boolean {
	if (possible && possible.count > 0) return true;
	return family !== undefined && (family.apart ?? false);
}

function maybe({ count: accesses, files }: NonNullable<Definition["possible"]>): string {
	const named = files.slice(0, 5).map((path) => clip(oneLine(path), 100));
	const more = files.length > named.length ? ", …" : "";
	return `possibly ${grouped(accesses)} more, on values whose type is not known, in ${named.join(", ")}${more}`;
}

function oneLineEach(definitions: readonly Definition[]): string[] {
	const { used = [], unused: others = [] } = Object.groupBy(
		definitions,
		({ usages, global, possible }) => (usages.length > 0 || global || possible ? "used" : "unused"),
	);
	const places = others.map(({ path, line, owner }) => {
		return `${owner ? `${clip(oneLine(owner), 80)} ` : ""}${oneLine(path)}:${line}`;
	});
	return [
		...used.map(oneDefinition),
		...chunks(places, 4).map((some) => `  no usage found: ${some.join(", ")}`),
	];
}

function oneDefinition(definition: Definition): string {
	const global = definition.global ? "; global, other files are not followed" : "";
	const { possible } = definition;
	const others = possible && possible.count > 0 ? `, possibly ${grouped(possible.count)} more` : "";
	return `  ${title(definition)}: ${inFiles(definition.usages)}${others}${global}`;
}

/** A file with many usages gets several lines, so that its list can be cut between lines. */
function perFile(usages: readonly Usage[], list: (usages: readonly Usage[]) => string[]): string[] {
	return [...Map.groupBy(usages, ({ path }) => path)].flatMap(([path, some]) => {
		const isTest = some[0]?.isTest ? " (test)" : "";
		return list(some).map((places) => `  ${oneLine(path)}${isTest}  ${places}`);
	});
}

const PLACES_A_LINE = 12;

function placesOf(usages: readonly Usage[]): string[] {
	const places = usages.map(({ line, column, kind }) => `${line}:${column} ${kind}`);
	return chunks(places, PLACES_A_LINE).map((some) => some.join(", "));
}

/** `Session.check 1816, 1820; import 3`: by the symbol around, and what is no call by its kind. */
function groupsOf(usages: readonly Usage[]): string[] {
	const groups = Map.groupBy(usages, ({ within, kind }) => within ?? `\0${kind}`);
	const texts = [...groups].flatMap(([name, some]) => {
		const isKind = name.startsWith("\0");
		const label = isKind ? name.slice(1) : clip(oneLine(name), 100);
		const places = some.map(({ line, kind }) => {
			return isKind || CALLS.has(kind) ? String(line) : `${line} ${kind}`;
		});
		return chunks([...new Set(places)], PLACES_A_LINE).map((list) => `${label} ${list.join(", ")}`);
	});
	return chunks(texts, GROUPS_A_LINE).map((some) => some.join("; "));
}

const CALLS: ReadonlySet<Usage["kind"]> = new Set(["call", "new", "jsx"]);
const GROUPS_A_LINE = 6;

function linesOf(usages: readonly Usage[]): string[] {
	const kinds = [...Map.groupBy(usages, ({ kind }) => kind)];
	return chunks(
		kinds.flatMap(([kind, some]) => {
			return chunks([...new Set(some.map(({ line }) => line))], PLACES_A_LINE).map(
				(lines) => `${kind} ${lines.join(", ")}`,
			);
		}),
		3,
	).map((some) => some.join("; "));
}

function perFolder(usages: readonly Usage[]): string[] {
	const files = [...Map.groupBy(usages, ({ path }) => path)];
	return byFolder(
		files.map(([path, { length }]) => ({ path, count: length })),
		(name, { count }) => `${name} ${grouped(count)}`,
	);
}

export function nothingNamed(
	answer: Pick<AnswerOf<"usages">, "coverage" | "suggestions">,
	{ symbol, file }: QueryOf<"symbol">,
	advice: Advice,
): string[] {
	const nothing = whyNothingIndexed(answer.coverage, advice);
	if (nothing) return [nothing];
	const where = file === undefined ? "the indexed files" : clip(oneLine(file), 200);
	const close = (answer.suggestions ?? []).slice(0, 8).map((name) => clip(oneLine(name), 80));
	return [
		`Nothing named ${clip(oneLine(symbol), 120)} is declared in ${where}: only names of a file's top level and their members are known, not locals, names inside declare global, nor names of packages.`,
		...(close.length > 0 ? [`Close to it: ${close.join(", ")}.`] : []),
		`Try Owner.member for a member, or ${advice.search}.`,
	];
}
