import type { TaskContextAnswer } from "../codeindex/index.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Reader, toolAdvice } from "./advice.ts";
import { type Outline, type Part, section } from "./budget.ts";
import { whyNothingIndexed } from "./coverage-text.ts";
import { described, shownFiles } from "./deps-text.ts";
import { byFolder } from "./path-groups.ts";
import { symbolText } from "./search-text.ts";
import type { TaskContextInput } from "./tools.ts";

/** The forms of a task context: with kinds and symbols, by folder, and with few symbols. */
export function taskContextForms(
	answer: TaskContextAnswer,
	input: TaskContextInput,
	{ show, advice = toolAdvice }: Reader,
): (() => Outline)[] {
	const nothing = whyNothingIndexed(answer.coverage, advice);
	if (nothing) return [() => [{ head: [nothing], items: [] }]];
	const impacted = shownFiles(answer.impacted, show);
	const outline = (detail: { most: number; files: string[] }) => [
		...answer.targets.map((target) => targetPart(target, detail.most, show)),
		...section("not in the index", answer.unknown, (path) => `  ${oneLine(show(path))}`),
		{ head: [impactedHead(answer)], items: detail.files },
		...(input.includeTests ? [testsPart(answer, show)] : []),
	];
	return [
		() => outline({ most: Number.POSITIVE_INFINITY, files: impacted.map(described) }),
		() => outline({ most: 20, files: byFolder(impacted) }),
		() => outline({ most: 0, files: byFolder(impacted) }),
	];
}

function targetPart(
	{ path, dependencies, dependentCount, symbols }: TaskContextAnswer["targets"][number],
	most: number,
	show: (path: string) => string,
): Part {
	const shown = symbols.slice(0, most);
	const hidden = symbols.length - shown.length;
	return {
		head: [`${oneLine(show(path))}: ${counted(dependentCount, "dependent")}`],
		items: [
			...byFolder(dependencies.map((dependency) => ({ path: show(dependency) }))).map(
				(line) => `  imports${line.slice(1)}`,
			),
			...shown.map((symbol) => `  ${symbol.line} ${symbolText(symbol)}`),
			...(hidden > 0 ? [`  … ${counted(hidden, "symbol")} not shown`] : []),
		],
	};
}

function impactedHead({ impacted, impactedCount }: TaskContextAnswer): string {
	if (impactedCount === 0) return "No other file is impacted.";
	const shown = impacted.length < impactedCount ? `${grouped(impacted.length)} of ` : "";
	return `impacted files (${shown}${grouped(impactedCount)}), most important first:`;
}

function testsPart({ tests }: TaskContextAnswer, show: (path: string) => string): Part {
	if (tests.length === 0) return { head: ["No test reaches these files."], items: [] };
	const paths = tests.map((test) => ({ path: show(test) }));
	return { head: [`tests (${grouped(tests.length)}):`], items: byFolder(paths) };
}
