import type { DependenciesAnswer, DependenciesQuery, Uncovered } from "../answers.ts";
import type { IndexedFile, IndexReader } from "../reader.ts";
import { cyclesOf } from "./cycles.ts";
import { isGlobalFile, knownFile } from "./known-file.ts";
import { type Reached, reach, toFileAtDepth } from "./reach.ts";

/** What a file asks for and what asks for it, step by step, with the cycles among them. */
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
	return {
		file: file.path,
		dependents: dependents.map(toFileAtDepth),
		dependencies: dependencies.map(toFileAtDepth),
		cycles: cyclesAmong(reader, [file, ...filesOf(dependents), ...filesOf(dependencies)], kinds),
		...outsideOf(reader, file),
		...(isGlobalFile(reader, file) && { global: true as const }),
	};
}

function filesOf(reached: readonly Reached[]): IndexedFile[] {
	return reached.map(({ file }) => file);
}

function cyclesAmong(
	reader: IndexReader,
	files: readonly IndexedFile[],
	kinds: DependenciesQuery["kinds"],
): readonly (readonly string[])[] {
	const cycles = cyclesOf(reader, kinds);
	const found = new Set<readonly string[]>();
	for (const { id } of files) {
		const group = cycles.of(id);
		if (group) found.add(group);
	}
	return [...found];
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
		if (target?.kind === "external") external.add(target.name);
		if (target?.kind === "unresolved") unresolved.push({ specifier, line: at[0] });
	}
	return { unresolved, external: [...external].sort() };
}
