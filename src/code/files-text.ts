import type { AnswerOf, FileAtDepth, OutlineSymbol, QueryOf } from "../codeindex/index.ts";
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
import { type SymbolText, symbolForms, symbolLines } from "./source-text.ts";
import type { DepsInput, TaskContextInput } from "./tool-inputs.ts";

/** Forms, fullest first: with kinds and steps; by depth and folder; by folder with totals. */
export function depsForms(
	answer: AnswerOf<"dependencies">,
	input: DepsInput,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const { direction, depth } = input;
	const sides = (["dependents", "dependencies"] as const)
		.filter((name) => direction === "both" || direction === name)
		.map((name) => ({ name, files: shownFiles(answer[name], show) }));
	const totals = sides.map(({ name, files }) => counted(files.length, SINGULAR[name], name));
	const outline = (parts: (side: Side) => Section[]) => () => [
		remark(`${oneLine(show(answer.file))}: ${totals.join(", ")} (depth ${depth})`),
		...sides.filter(({ files }) => files.length > 0).flatMap(parts),
		...furtherSections(answer, direction, show),
		...whyEmpty(answer, input, advice),
	];
	return [
		outline((side) => perDepth(side, (files) => files.map(described))),
		outline((side) => perDepth(side, byFolder)),
		outline(({ name, files }) => inBrief(`${name}, nearest first:`, `${name} by folder:`, files)),
	];
}

const SINGULAR = { dependents: "dependent", dependencies: "dependency" } as const;

interface Side {
	readonly name: string;
	readonly files: readonly FileAtDepth[];
}

function shownFiles(files: readonly FileAtDepth[], show: (path: string) => string): FileAtDepth[] {
	return files.map((file) => ({
		...file,
		path: show(file.path),
		...(file.via !== undefined && { via: show(file.via) }),
	}));
}

function perDepth({ name, files }: Side, lines: (files: Side["files"]) => string[]): Section[] {
	return [...Map.groupBy(files, ({ depth }) => depth)]
		.toSorted(([a], [b]) => a - b)
		.map(([depth, some]) => ({
			head: [`${name}${depth > 1 ? ` at depth ${depth}` : ""} (${grouped(some.length)}):`],
			items: lines(some),
		}));
}

function described({ path, isTest, kinds, via }: FileAtDepth): string {
	const step = via === undefined ? "" : ` via ${oneLine(via)}`;
	return `  ${oneLine(path)}${isTest ? " (test)" : ""}  ${kinds.join(", ")}${step}`.trimEnd();
}

function furtherSections(
	{ external, unresolved, cycles }: AnswerOf<"dependencies">,
	direction: DepsInput["direction"],
	show: (path: string) => string,
): Section[] {
	const cyclic = section("cycles", cycles, (cycle) => cycleLine(cycle, show));
	if (direction === "dependents") return cyclic;
	return [
		...cyclic,
		...section("imports that lead nowhere", unresolved, ({ specifier, line }) => {
			return `  ${clip(oneLine(specifier), 120)}  line ${line}`;
		}),
		...section(
			"packages",
			chunks(external.map(oneLine), 12),
			(some) => `  ${some.join(", ")}`,
			external.length,
		),
	];
}

const CYCLE_FILES = 12;

function cycleLine(files: readonly string[], show: (path: string) => string): string {
	const some = files.slice(0, CYCLE_FILES).map((path) => oneLine(show(path)));
	const shown = some.join(", ");
	const more = files.length - CYCLE_FILES;
	return more > 0 ? `  ${shown}, … ${grouped(more)} more` : `  ${shown}`;
}

function whyEmpty(answer: AnswerOf<"dependencies">, input: DepsInput, advice: Advice): Section[] {
	const { direction, includeTests } = input;
	const lines: string[] = [];
	if (direction !== "dependencies" && answer.global) {
		const subject =
			answer.dependents.length === 0 ? "No file of the project imports it, but this" : "This";
		lines.push(`${subject} file's top level is global: uses in other files are not followed.`);
	} else if (direction !== "dependencies" && answer.dependents.length === 0) {
		const tests = includeTests ? "" : ` Tests are not counted: ${advice.countTests}.`;
		lines.push(
			`No file of the project imports it: an entry point, reached in a way that cannot be seen (a computed import, a framework), or unused.${tests}`,
		);
	}
	if (direction !== "dependents" && answer.dependencies.length === 0) {
		const packages =
			answer.external.length > 0 ? `, only ${counted(answer.external.length, "package")}` : "";
		lines.push(`It imports no file of the project${packages}.`);
	}
	return lines.length > 0 ? [{ head: lines, items: [] }] : [];
}

function inBrief(head: string, byFolderHead: string, files: readonly FileAtDepth[]): Section[] {
	return [
		{ head: [head], items: byFolder(files.toSorted((a, b) => a.depth - b.depth)) },
		{ head: [byFolderHead], items: folderTotals(files) },
	];
}

/** Every form starts with the summary: risk, reach, tests to run. */
export function impactForms(
	answer: AnswerOf<"impact">,
	_input: QueryOf<"impact">,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const nothing = whyNothingIndexed(answer.coverage, advice);
	if (nothing) return [() => [remark(nothing)]];
	const files = shownFiles(answer.affected, show);
	const outline = (affected: Section[]) => [
		remark(`risk: ${answer.risk}. ${clip(oneLine(answer.summary), 600)}`),
		...section("warnings", answer.warnings, (warning) => `  ${clip(oneLine(warning), 300)}`),
		testsToRun(answer, show),
		...section("exports used elsewhere, most used first", usedExports(answer), (symbol) => {
			const { name, kind, path, usages, files } = symbol;
			return `  ${clip(oneLine(name), 80)} (${kind}, ${oneLine(show(path))})  ${counted(usages, "usage")} in ${counted(files, "file")}`;
		}),
		...(files.length > 0 ? affected : [remark("No other file is reached.")]),
	];
	const side = { name: "affected files", files };
	return [
		() => outline(perDepth(side, (some) => some.map(described))),
		() => outline(perDepth(side, byFolder)),
		() =>
			outline(
				inBrief(
					`affected files (${grouped(files.length)}), nearest first:`,
					"affected by folder:",
					files,
				),
			),
	];
}

function testsToRun({ tests }: AnswerOf<"impact">, show: (path: string) => string): Section {
	if (tests.length === 0) {
		return remark(
			"No test reaches the change by imports or by name: cover it first, or check by hand.",
		);
	}
	return {
		head: [`tests to run (${grouped(tests.length)}), nearest first:`],
		items: tests.map(({ path, depth, via }) => {
			const how = via === "name" ? "by its name" : `depth ${depth}`;
			return `  ${oneLine(show(path))}  ${how}`;
		}),
	};
}

function usedExports({ symbols }: AnswerOf<"impact">): AnswerOf<"impact">["symbols"] {
	return symbols
		.filter(({ otherFiles }) => otherFiles > 0)
		.toSorted((a, b) => b.otherFiles - a.otherFiles || b.usages - a.usages);
}

/** Forms, fullest first: kinds and outlines; folders and outlines, ever shorter; without members; without symbols. */
export function taskContextForms(
	answer: AnswerOf<"taskContext">,
	input: TaskContextInput,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const nothing = whyNothingIndexed(answer.coverage, advice);
	if (nothing) return [() => [remark(nothing)]];
	const impacted = shownFiles(answer.impacted, show);
	const outline = (detail: { text?: SymbolText; most?: number; files: string[] }) => [
		...answer.targets.map((target) => targetPart(target, detail, show)),
		...section("not in the index", answer.unknown, (path) => `  ${oneLine(show(path))}`),
		{ head: [impactedHead(answer)], items: detail.files },
		...(input.includeTests ? [testsPart(answer, show)] : []),
	];
	return [
		() => outline({ text: symbolForms.full, files: impacted.map(described) }),
		() => outline({ text: symbolForms.full, files: byFolder(impacted) }),
		() => outline({ text: symbolForms.short, files: byFolder(impacted) }),
		() => outline({ text: symbolForms.name, files: byFolder(impacted) }),
		...[100, 20, 5].map((most) => () => {
			return outline({ text: symbolForms.short, most, files: byFolder(impacted) });
		}),
		() => outline({ files: byFolder(impacted) }),
	];
}

function targetPart(
	{ path, dependencies, dependentCount, symbols }: AnswerOf<"taskContext">["targets"][number],
	{ text, most }: { readonly text?: SymbolText; readonly most?: number },
	show: (path: string) => string,
): Section {
	const few = most === undefined ? symbols : symbols.slice(0, most).map(withoutMembers);
	const shown = text ? few : [];
	const hidden = symbols.length - shown.length;
	return {
		head: [`${oneLine(show(path))}: ${counted(dependentCount, "dependent")}`],
		items: [
			...byFolder(dependencies.map((dependency) => ({ path: show(dependency) }))).map(
				(line) => `  imports${line.slice(1)}`,
			),
			...(text ? shown.flatMap((symbol) => symbolLines(symbol, text)) : []),
			...(hidden > 0 ? [`  … ${counted(hidden, "symbol")} not shown`] : []),
		],
	};
}

function withoutMembers({ members: _, ...symbol }: OutlineSymbol): OutlineSymbol {
	return symbol;
}

function impactedHead({ impacted, impactedCount }: AnswerOf<"taskContext">): string {
	if (impactedCount === 0) return "No other file is impacted.";
	const shown = impacted.length < impactedCount ? `${grouped(impacted.length)} of ` : "";
	return `impacted files (${shown}${grouped(impactedCount)}), most important first:`;
}

function testsPart({ tests }: AnswerOf<"taskContext">, show: (path: string) => string): Section {
	if (tests.length === 0) return remark("No test reaches these files.");
	const paths = tests.map((test) => ({ path: show(test) }));
	return { head: [`tests (${grouped(tests.length)}):`], items: byFolder(paths) };
}

export function symbolMapForms({ blocks, omittedFiles }: AnswerOf<"symbolMap">): (() => Outline)[] {
	const lines = blocks.flatMap(({ text }) => text.split("\n").map(oneLine));
	const more = omittedFiles > 0 ? [`(${counted(omittedFiles, "more file")})`] : [];
	return [() => [remark(...lines, ...more)]];
}
