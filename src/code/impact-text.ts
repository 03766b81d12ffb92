import type { ImpactAnswer } from "../codeindex/index.ts";
import { clip } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Reader, toolAdvice } from "./advice.ts";
import { type Outline, type Part, section } from "./budget.ts";
import { whyNothingIndexed } from "./coverage-text.ts";
import { described, perDepth, shownFiles } from "./deps-text.ts";
import { byFolder, folderTotals } from "./path-groups.ts";

/** The forms of an impact answer. The summary stands first in each: risk, what is reached, what to test. */
export function impactForms(
	answer: ImpactAnswer,
	{ show, advice = toolAdvice }: Reader,
): (() => Outline)[] {
	const nothing = whyNothingIndexed(answer.coverage, advice);
	if (nothing) return [() => [{ head: [nothing], items: [] }]];
	const files = shownFiles(answer.affected, show);
	const outline = (affected: Part[]) => [
		{ head: [`risk: ${answer.risk}. ${clip(oneLine(answer.summary), 600)}`], items: [] },
		...section("warnings", answer.warnings, (warning) => `  ${clip(oneLine(warning), 300)}`),
		tests(answer, show),
		...section("exports used elsewhere, most used first", usedExports(answer), (symbol) => {
			const { name, kind, path, usages, files } = symbol;
			return `  ${clip(oneLine(name), 80)} (${kind}, ${oneLine(show(path))})  ${counted(usages, "usage")} in ${counted(files, "file")}`;
		}),
		...(files.length > 0 ? affected : [{ head: ["No other file is reached."], items: [] }]),
	];
	const side = { name: "affected files", files };
	return [
		() => outline(perDepth(side, (some) => some.map(described))),
		() => outline(perDepth(side, byFolder)),
		() =>
			outline([
				{
					head: [`affected files (${grouped(files.length)}), nearest first:`],
					items: byFolder(files.toSorted((a, b) => a.depth - b.depth)),
				},
				{
					head: ["affected by folder:"],
					items: folderTotals(files.map(({ path }) => ({ path, weight: 1 }))),
				},
			]),
	];
}

function tests({ tests }: ImpactAnswer, show: (path: string) => string): Part {
	if (tests.length === 0) {
		const head =
			"No test reaches the change by imports or by name: cover it first, or check by hand.";
		return { head: [head], items: [] };
	}
	return {
		head: [`tests to run (${grouped(tests.length)}), nearest first:`],
		items: tests.map(({ path, depth, via }) => {
			const how = via === "name" ? "by its name" : `depth ${depth}`;
			return `  ${oneLine(show(path))}  ${how}`;
		}),
	};
}

function usedExports({ symbols }: ImpactAnswer): ImpactAnswer["symbols"] {
	return symbols
		.filter(({ otherFiles }) => otherFiles > 0)
		.toSorted((a, b) => b.otherFiles - a.otherFiles || b.usages - a.usages);
}
