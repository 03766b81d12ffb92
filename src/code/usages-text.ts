import type { Definition, Usage, UsagesAnswer } from "../codeindex/index.ts";
import { clip } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import {
	type Advice,
	byFolder,
	chunks,
	folderTotals,
	type Outline,
	type Part,
	type Reader,
	remark,
	whyNothingIndexed,
} from "./outline.ts";
import type { UsagesInput } from "./tools.ts";

/** Forms: every place, lines by kind, counts by file, counts by folder. One part per definition. */
export function usagesForms(
	answer: UsagesAnswer,
	input: UsagesInput,
	{ show, advice }: Reader,
): (() => Outline)[] {
	const definitions = answer.definitions.map((definition) => shown(definition, show));
	if (definitions.length === 0) {
		return [() => [remark(...nothingNamed(answer, input, advice))]];
	}
	const heading = remark(summary(answer, input));
	const form =
		(items: (usages: readonly Usage[]) => string[], more?: (usages: readonly Usage[]) => Part) =>
		() => [
			heading,
			...definitions.flatMap((definition) => [
				{ head: describe(definition, input, advice), items: items(definition.usages) },
				...(more ? [more(definition.usages)] : []),
			]),
		];
	const lines = (usages: readonly Usage[]) => perFile(usages, linesOf);
	return [
		form((usages) => perFile(usages, placesOf)),
		form(lines),
		form(perFolder),
		definitions.length > SINGLE_PARTS
			? () => [heading, { head: [], items: definitions.map(oneDefinition) }]
			: form(lines, (usages) => ({
					head: ["  by folder:"],
					items: folderTotals(usages, "usage"),
				})),
	];
}

/** Above this, an answer that does not fit gets one line per definition instead of a part. */
const SINGLE_PARTS = 4;
const SIGNATURE_BYTES = 160;

function shown(definition: Definition, show: (path: string) => string): Definition {
	const { possible } = definition;
	return {
		...definition,
		path: show(definition.path),
		usages: definition.usages.map((usage) => ({ ...usage, path: show(usage.path) })),
		...(possible && { possible: { ...possible, files: possible.files.map(show) } }),
	};
}

function summary(
	{ symbol, definitions, omittedDefinitions = 0 }: UsagesAnswer,
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

function inFiles(usages: readonly Usage[]): string {
	const files = new Set(usages.map(({ path }) => path)).size;
	return `${counted(usages.length, "usage")} in ${counted(files, "file")}`;
}

function title({ kind, owner, exported, path, line, column }: Definition): string {
	const member = owner ? ` of ${clip(oneLine(owner), 80)}` : "";
	return `${kind}${member} at ${oneLine(path)}:${line}:${column}${exported ? ", exported" : ""}`;
}

function describe(definition: Definition, input: UsagesInput, advice: Advice): string[] {
	const { signature, usages, possible, global } = definition;
	const kinds = [...Map.groupBy(usages, ({ kind }) => kind)]
		.toSorted(([, a], [, b]) => b.length - a.length)
		.map(([kind, some]) => `${grouped(some.length)} ${kind}`);
	return [
		title(definition),
		...(signature ? [`  ${clip(oneLine(signature), SIGNATURE_BYTES)}`] : []),
		...(usages.length > 0 ? [`  ${inFiles(usages)}: ${kinds.join(", ")}`] : []),
		...(global ? [`  ${GLOBAL}`] : usages.length === 0 ? [`  ${unused(input, advice)}`] : []),
		...(possible && possible.count > 0 ? [`  ${maybe(possible)}`] : []),
	];
}

const GLOBAL = "this file's top level is global: uses in other files are not followed";

function unused({ includeTests }: UsagesInput, { countTests }: Advice): string {
	const tests = includeTests ? "" : `; tests are not counted, ${countTests}`;
	return `no usage found: it is unused, or used where that cannot be seen (computed access, outside the project)${tests}`;
}

function maybe({ count: accesses, files }: NonNullable<Definition["possible"]>): string {
	const named = files.slice(0, 5).map((path) => clip(oneLine(path), 100));
	const more = files.length > named.length ? ", …" : "";
	return `possibly ${grouped(accesses)} more, on values whose type is not known, in ${named.join(", ")}${more}`;
}

function oneDefinition(definition: Definition): string {
	const global = definition.global ? "; global, other files are not followed" : "";
	return `  ${title(definition)}: ${inFiles(definition.usages)}${global}`;
}

/** Files with many usages get several lines, so that they can be cut in between. */
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

function nothingNamed(
	answer: UsagesAnswer,
	{ symbol, file }: UsagesInput,
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
