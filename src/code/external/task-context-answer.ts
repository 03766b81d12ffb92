import {
	CodeIndexError,
	isTestPath,
	type TaskContextAnswer,
	type TaskContextQuery,
} from "../../codeindex/index.ts";
import { readPaths, symbolBrief, type Uncovered } from "./answer-parts.ts";
import type { ProjectFiles } from "./project-files.ts";
import { listOrNone, shapeOf } from "./shape.ts";

/** The arguments of KotaDB's `generate_task_context` for a question of ours. */
export function taskContextArguments(
	query: TaskContextQuery,
	files: ProjectFiles,
): Record<string, unknown> {
	const { includeTests = true, includeSymbols = false, maxImpactedFiles = 20 } = query;
	const there = files.findAll(query.files.map(files.within));
	if (there.length === 0) {
		const named = query.files.join(", ") || "(no path)";
		throw new CodeIndexError("unknown-file", `There is no file at ${named}: check the paths`);
	}
	return {
		files: there,
		include_tests: includeTests,
		include_symbols: includeSymbols,
		max_impacted_files: maxImpactedFiles,
	};
}

/** What `generate_task_context` answered. What the files depend on it does not tell. */
export function taskContextAnswer(
	data: unknown,
	{ files: asked, includeTests = true, maxImpactedFiles = 20 }: TaskContextQuery,
	files: ProjectFiles,
): Uncovered<TaskContextAnswer> {
	const shape = shapeOf("generate_task_context");
	const answer = shape.object(data, "the answer");
	const targets = shape.list(answer.targetFiles, "targetFiles").flatMap((item, index) => {
		const place = `targetFiles[${index}]`;
		const fields = shape.object(item, place);
		const path = files.find(shape.path(item, place));
		const dependentCount = shape.count(fields.dependentCount, `${place}.dependentCount`);
		const symbols = listOrNone(shape, fields.symbols, `${place}.symbols`).map((symbol, at) =>
			symbolBrief(shape, symbol, `${place}.symbols[${at}]`),
		);
		return path === undefined ? [] : [{ path, dependencies: [], dependentCount, symbols }];
	});
	const found = new Set(targets.map(({ path }) => path));
	const impacted = readPaths(shape, answer.impactedFiles, "impactedFiles", files);
	const tests = listOrNone(shape, answer.testFiles, "testFiles");
	return {
		targets,
		impacted: impacted
			.slice(0, maxImpactedFiles)
			.map((path) => ({ path, depth: 1, kinds: [], isTest: isTestPath(path) })),
		impactedCount: impacted.length,
		tests: includeTests ? readPaths(shape, tests, "testFiles", files) : [],
		unknown: asked.map(files.within).filter((path) => !found.has(path)),
	};
}
