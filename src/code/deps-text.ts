import type { DependenciesAnswer, FileAtDepth } from "../codeindex/index.ts";
import { clip } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Advice, type Reader, toolAdvice } from "./advice.ts";
import { type Outline, type Part, section } from "./budget.ts";
import { byFolder, chunks, folderTotals } from "./path-groups.ts";
import type { DepsInput } from "./tools.ts";

/** The forms of an answer about dependencies: with kinds and steps, by folder, and in numbers. */
export function depsForms(
	answer: DependenciesAnswer,
	input: DepsInput,
	{ show, advice = toolAdvice }: Reader,
): (() => Outline)[] {
	const { direction, depth } = input;
	const sides = (["dependents", "dependencies"] as const)
		.filter((name) => direction === "both" || direction === name)
		.map((name): Side<keyof typeof SINGULAR> => ({ name, files: shownFiles(answer[name], show) }));
	const totals = sides.map(({ name, files }) => counted(files.length, SINGULAR[name], name));
	const outline = (parts: (side: Side) => Part[]) => () => [
		{ head: [`${oneLine(show(answer.file))}: ${totals.join(", ")} (depth ${depth})`], items: [] },
		...sides.filter(({ files }) => files.length > 0).flatMap(parts),
		...besides(answer, direction, show),
		...whyEmpty(answer, input, advice),
	];
	return [
		outline((side) => perDepth(side, (files) => files.map(described))),
		outline((side) => perDepth(side, byFolder)),
		outline(({ name, files }) => [
			{
				head: [`${name}, nearest first:`],
				items: byFolder(files.toSorted((a, b) => a.depth - b.depth)),
			},
			{
				head: [`${name} by folder:`],
				items: folderTotals(files.map(({ path }) => ({ path, weight: 1 }))),
			},
		]),
	];
}

const SINGULAR = { dependents: "dependent", dependencies: "dependency" } as const;

interface Side<Name extends string = string> {
	readonly name: Name;
	readonly files: readonly FileAtDepth[];
}

/** Files with their paths as the model should write them. */
export function shownFiles(
	files: readonly FileAtDepth[],
	show: (path: string) => string,
): FileAtDepth[] {
	return files.map((file) => ({
		...file,
		path: show(file.path),
		...(file.via !== undefined && { via: show(file.via) }),
	}));
}

/** One part for each depth, the nearest first. */
export function perDepth(
	{ name, files }: Side,
	lines: (files: readonly FileAtDepth[]) => string[],
): Part[] {
	return [...Map.groupBy(files, ({ depth }) => depth)]
		.toSorted(([a], [b]) => a - b)
		.map(([depth, some]) => ({
			head: [`${name}${depth > 1 ? ` at depth ${depth}` : ""} (${grouped(some.length)}):`],
			items: lines(some),
		}));
}

/** One file with how it is reached: `  src/a.ts  value, type via src/b.ts`. */
export function described({ path, isTest, kinds, via }: FileAtDepth): string {
	const step = via === undefined ? "" : ` via ${oneLine(via)}`;
	return `  ${oneLine(path)}${isTest ? " (test)" : ""}  ${kinds.join(", ")}${step}`.trimEnd();
}

/** Packages, cycles and imports that lead nowhere; the first and the last belong to the dependencies. */
function besides(
	{ external, unresolved, cycles }: DependenciesAnswer,
	direction: DepsInput["direction"],
	show: (path: string) => string,
): Part[] {
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

function whyEmpty(answer: DependenciesAnswer, input: DepsInput, { countTests }: Advice): Part[] {
	const { direction, includeTests } = input;
	const lines: string[] = [];
	if (direction !== "dependencies" && answer.global) {
		const nobody =
			answer.dependents.length === 0 ? "No file of the project imports it, but this" : "This";
		lines.push(`${nobody} file's top level is global: uses in other files are not followed.`);
	} else if (direction !== "dependencies" && answer.dependents.length === 0) {
		const tests = includeTests ? "" : ` Tests are not counted: ${countTests}.`;
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
