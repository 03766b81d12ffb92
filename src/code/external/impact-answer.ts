import {
	type FileAtDepth,
	type ImpactAnswer,
	type ImpactQuery,
	isTestPath,
} from "../../codeindex/index.ts";
import { readPaths, type Uncovered } from "./answer-parts.ts";
import { printable } from "./log-tail.ts";
import type { ProjectFiles } from "./project-files.ts";
import { listOrNone, type Shape, shapeOf, textOr } from "./shape.ts";

/** The arguments of KotaDB's `analyze_change_impact` for a question of ours. */
export function impactArguments(
	{ modify = [], create = [], delete: deleted = [], symbols }: ImpactQuery,
	files: ProjectFiles,
): Record<string, unknown> {
	const about = symbols && symbols.length > 0 ? ` of ${symbols.join(", ")}` : "";
	return {
		// Both are required; neither is part of our question, nor changes what it finds.
		change_type: "refactor",
		description: printable(`Change${about} in ${[...modify, ...create, ...deleted].join(", ")}`),
		files_to_modify: modify.map(files.within),
		files_to_create: create.map(files.within),
		files_to_delete: deleted.map(files.within),
	};
}

/** What `analyze_change_impact` answered, without the tests it made up. */
export function impactAnswer(
	data: unknown,
	{ modify = [], create = [], delete: deleted = [] }: ImpactQuery,
	files: ProjectFiles,
): Uncovered<ImpactAnswer> {
	const shape = shapeOf("analyze_change_impact");
	const answer = shape.object(data, "the answer");
	const scope = shape.object(answer.test_scope, "test_scope");
	const named = new Set([...modify, ...create, ...deleted].map(files.within));
	const missing = [...modify, ...deleted].filter((path) => files.find(path) === undefined);
	const reaching = testPaths(shape, scope.test_files, "test_scope.test_files", files);
	const recommended = testPaths(
		shape,
		scope.recommended_test_files,
		"test_scope.recommended_test_files",
		files,
	);
	return {
		risk: riskOf(shape.text(answer.risk_level, "risk_level")),
		summary: shape.text(answer.summary, "summary"),
		affected: readAffected(shape, answer.affected_files, files).filter(
			({ path }) => !named.has(path),
		),
		symbols: [],
		tests: [
			...reaching.map((path) => ({ path, depth: 1, via: "import" as const })),
			...recommended
				.filter((path) => !reaching.includes(path))
				.map((path) => ({ path, depth: 1, via: "name" as const })),
		],
		warnings: [
			...missing.map((path) => `${path} does not exist`),
			...readWarnings(shape, answer.architectural_warnings, "architectural_warnings"),
			...readWarnings(shape, answer.conflicts, "conflicts"),
		],
	};
}

/** When the index was last built, if the answer tells (ms since 1970). */
export function lastIndexedMs(data: unknown): number | undefined {
	const at = Date.parse(
		textOr(shapeOf("analyze_change_impact").object(data, "").last_indexed_at, ""),
	);
	return Number.isNaN(at) ? undefined : at;
}

const MAX_WARNINGS = 20;

function riskOf(word: string): ImpactAnswer["risk"] {
	const lower = word.toLowerCase();
	// A word that we do not know is no reason to be calm.
	return lower === "low" || lower === "medium" ? lower : "high";
}

/** How far away they are it says in words only; what it calls indirect counts as two steps. */
function readAffected(shape: Shape, value: unknown, files: ProjectFiles): FileAtDepth[] {
	const affected = new Map<string, FileAtDepth>();
	for (const [index, item] of shape.list(value, "affected_files").entries()) {
		const path = files.find(shape.path(item, `affected_files[${index}]`));
		if (path === undefined || affected.has(path)) continue;
		const reason = typeof item === "string" ? "" : textOr(shape.object(item, "").reason, "");
		const depth = /indirect|transitive/i.test(reason) ? 2 : 1;
		affected.set(path, { path, depth, kinds: [], isTest: isTestPath(path) });
	}
	return [...affected.values()];
}

function testPaths(shape: Shape, value: unknown, place: string, files: ProjectFiles): string[] {
	return value === undefined || value === null ? [] : readPaths(shape, value, place, files);
}

function readWarnings(shape: Shape, value: unknown, place: string): string[] {
	return listOrNone(shape, value, place)
		.slice(0, MAX_WARNINGS)
		.map((item, index) => {
			if (typeof item === "string") return item;
			const { message, description, title } = shape.object(item, `${place}[${index}]`);
			return shape.text(message ?? description ?? title, `${place}[${index}].message`);
		});
}
