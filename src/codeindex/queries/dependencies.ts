import type { DependenciesAnswer, DependenciesQuery } from "../answers.ts";
import type { IndexedFile, IndexReader } from "../reader.ts";
import { cyclesOf } from "./cycles.ts";
import { knownFile } from "./known-file.ts";
import { type Reached, reach, toFileAtDepth } from "./reach.ts";
import type { Uncovered } from "./uncovered.ts";

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
	const cycles = cyclesOf(reader, kinds);
	const near = [file, ...[...dependents, ...dependencies].map((one: Reached) => one.file)];
	return {
		file: file.path,
		dependents: dependents.map(toFileAtDepth),
		dependencies: dependencies.map(toFileAtDepth),
		cycles: [...new Set(near.flatMap(({ id }) => [cycles.of(id) ?? []]))].filter(
			(group) => group.length > 0,
		),
		...outsideOf(reader, file),
	};
}

/** The requests of a file that leave the project or lead nowhere. */
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
