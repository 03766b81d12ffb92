import type { TaskContextAnswer, TaskContextQuery, Uncovered } from "../answers.ts";
import { dependenciesOf, dependentsOf } from "../link/index.ts";
import type { IndexedFile, IndexReader } from "../reader.ts";
import { ranksOf } from "./graph.ts";
import { knownFile } from "./known-file.ts";
import { byPath, reach, toFileAtDepth } from "./reach.ts";
import { symbolsOf, toBrief } from "./symbols.ts";
import { testsOf } from "./tests-of.ts";

/** What files rest on, what rests on them, and their tests. It is an error if none of them is in the index. */
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
			symbols: includeSymbols ? symbolsOf(reader, target.id).map(toBrief) : [],
		})),
		impacted: impacted.slice(0, maxImpactedFiles).map(toFileAtDepth),
		impactedCount: impacted.length,
		tests: includeTests ? testsOf(reader, targets).map(({ file }) => file.path) : [],
		unknown: paths.filter((path) => !reader.fileAt(path)),
	};
}

/** Files further away seldom matter to a task; `impact` follows them all. */
const MAX_DEPTH = 2;
