import type {
	DependenciesAnswer,
	DependenciesQuery,
	TaskContextAnswer,
	TaskContextQuery,
	Uncovered,
} from "../answers.ts";
import type { IndexedFile, IndexReader } from "../index-reader.ts";
import { dependenciesOf, dependentsOf } from "../link/modules.ts";
import { byPath, cyclesAmong, ranksOf, reach, toFileAtDepth } from "./graph.ts";
import { isGlobalFile, knownFile } from "./known-file.ts";
import { withMembers } from "./outline.ts";
import { symbolsIn } from "./symbols.ts";
import { testsOf } from "./tests-of.ts";

export function dependencies(
	reader: IndexReader,
	{ path, direction = "both", depth = 1, kinds, includeTests = true }: DependenciesQuery,
): Uncovered<DependenciesAnswer> {
	const file = knownFile(reader, path);
	const towards = (one: "dependents" | "dependencies") =>
		direction === "both" || direction === one
			? reach(reader, [file], { direction: one, depth, includeTests, ...(kinds && { kinds }) })
			: [];
	const dependents = towards("dependents");
	const dependencies = towards("dependencies");
	const nearby = [...dependents, ...dependencies];
	return {
		file: file.path,
		dependents: dependents.map(toFileAtDepth),
		dependencies: dependencies.map(toFileAtDepth),
		cycles: cyclesAmong(reader, [file, ...nearby.map((one) => one.file)], kinds),
		...outsideOf(reader, file),
		...(isGlobalFile(reader, file) && { global: true as const }),
	};
}

function outsideOf(
	reader: IndexReader,
	{ id }: IndexedFile,
): Pick<DependenciesAnswer, "unresolved" | "external"> {
	const resolutions = reader.resolutions(id);
	const external = new Set<string>();
	const unresolved: { specifier: string; line: number }[] = [];
	for (const [index, { specifier, at }] of reader.requests(id).entries()) {
		const target = resolutions[index];
		if (target?.kind === "external" && target.name !== "") external.add(target.name);
		if (target?.kind === "unresolved") unresolved.push({ specifier, line: at[0] });
	}
	return { unresolved, external: [...external].sort() };
}

/** Throws if none of the files is in the index. */
export function taskContext(
	reader: IndexReader,
	{ files, includeTests = true, includeSymbols = false, maxImpactedFiles = 20 }: TaskContextQuery,
): Uncovered<TaskContextAnswer> {
	const paths = [...new Set(files)];
	const targets = paths.flatMap((path) => reader.fileAt(path) ?? []);
	if (targets.length === 0 && paths[0] !== undefined) knownFile(reader, paths[0]);
	const ranks = ranksOf(reader);
	const byRank = (a: IndexedFile, b: IndexedFile) =>
		(ranks.get(b.id) ?? 0) - (ranks.get(a.id) ?? 0) || byPath(a, b);
	const impacted = reach(reader, targets, { direction: "dependents", depth: MAX_DEPTH })
		.filter(({ file }) => !file.isTest)
		.sort((a, b) => a.depth - b.depth || byRank(a.file, b.file));
	return {
		targets: targets.map((target) => ({
			path: target.path,
			dependencies: dependenciesOf(reader, target.id)
				.flatMap(({ file }) => reader.files.get(file) ?? [])
				.filter(({ id }) => id !== target.id)
				.sort(byRank)
				.map(({ path }) => path),
			dependentCount: dependentsOf(reader, target.id).filter(({ file }) => file !== target.id)
				.length,
			symbols: includeSymbols ? symbolsIn(reader, target.id).map(withMembers) : [],
		})),
		impacted: impacted.slice(0, maxImpactedFiles).map(toFileAtDepth),
		impactedCount: impacted.length,
		tests: includeTests ? testsOf(reader, targets).map(({ file }) => file.path) : [],
		unknown: paths.filter((path) => !reader.fileAt(path)),
	};
}

/** Maximum import steps. Farther files seldom matter to a task; `impact` has no limit. */
const MAX_DEPTH = 2;
