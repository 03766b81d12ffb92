import {
	type CodeIndex,
	CodeIndexError,
	type Definition,
	type DependenciesAnswer,
	type FileAtDepth,
	type Usage,
} from "../../codeindex/index.ts";
import { compareText } from "../../core/compare-text.ts";
import { isTestPath } from "../../core/project-path.ts";
import type { ProjectFiles } from "./answer-part.ts";
import { type AnswerPart, EDGE_WORDS, positionOf, symbolKind, usageKind } from "./answer-part.ts";
import { printable } from "./log-tail.ts";
import { readSearch, searchArguments } from "./search-question.ts";

export type QuestionName = "search" | "dependencies" | "usages" | "impact" | "taskContext";
export type Query<N extends QuestionName> = Parameters<CodeIndex[N]>[0];
type Answer<N extends QuestionName> = Omit<Awaited<ReturnType<CodeIndex[N]>>, "coverage">;

export interface Question<N extends QuestionName> {
	readonly tool: string;
	args(query: Query<N>, files: ProjectFiles): Record<string, unknown>;
	read(answer: AnswerPart, query: Query<N>, files: ProjectFiles): Answer<N>;
}

export const QUESTIONS: { readonly [N in QuestionName]: Question<N> } = {
	search: { tool: "search", args: searchArguments, read: readSearch },

	dependencies: {
		tool: "search_dependencies",
		args({ path, direction = "both", depth = 1, kinds }, files) {
			const words = kinds && [...new Set(kinds.flatMap((kind) => EDGE_WORDS[kind]))];
			if (words?.length === 0) {
				throw new CodeIndexError(
					"bad-query",
					`An external KotaDB knows no edges of the kind ${kinds?.join(", ") || "(none)"}: ask for value, re-export or dynamic`,
				);
			}
			return {
				file_path: files.existing(path),
				direction,
				depth: Math.min(Math.max(1, depth), MAX_DEPTH),
				// `read` filters tests: KotaDB's own filter also drops latest.ts and inspector.ts.
				include_tests: true,
				...(words && { reference_types: words }),
			};
		},
		read(answer, { path, direction = "both", includeTests = true }, files) {
			if (/not found/i.test(answer.field("message").textOr(""))) {
				throw new CodeIndexError(
					"unknown-file",
					`${path} is not in KotaDB's index. If it is new, kota_index takes it in`,
				);
			}
			const side = (name: "dependents" | "dependencies") =>
				direction === "both" || direction === name
					? readSide(answer.field(name), files)
					: { reached: [], cycles: [] };
			const dependents = side("dependents");
			const dependencies = side("dependencies");
			const wanted = (file: FileAtDepth) => includeTests || !file.isTest;
			return {
				file: files.within(path),
				dependents: dependents.reached.filter(wanted),
				dependencies: dependencies.reached.filter(wanted),
				cycles: distinct([...dependents.cycles, ...dependencies.cycles]),
				unresolved: answer.list("unresolved_imports").map(readUnresolved),
				external: [],
			};
		},
	},

	usages: {
		tool: "find_usages",
		args: ({ symbol, file }, files) => ({
			// KotaDB knows members only by name, without their owner.
			symbol: memberOf(symbol)?.name ?? symbol,
			...(file !== undefined && { file: files.existing(file) }),
			include_definitions: false,
			include_tests: true,
		}),
		/** KotaDB matches by name only. It reports the first definition for all, and no class of a member. */
		read(answer, { symbol, includeTests = true }, files) {
			const usages = answer
				.field("usages")
				.items()
				.flatMap((item) => readUsage(item, files))
				.sort((a, b) => compareText(a.path, b.path) || a.line - b.line || a.column - b.column)
				.filter((usage) => includeTests || !usage.isTest);
			const at = placeOf(answer.field("defined_in").textOr(undefined), files);
			const [first] = usages;
			if (!at && !first) return { symbol, definitions: [] };
			const member = memberOf(symbol);
			const paths = [...new Set(usages.map(({ path }) => path))];
			const definition: Definition = {
				path: at?.path ?? first?.path ?? "",
				line: at?.line ?? first?.line ?? 1,
				column: at ? 1 : (first?.column ?? 1),
				kind: symbolKind(answer.field("kind").value),
				...(member && { owner: member.owner }),
				exported: false,
				signature: at ? "" : "KotaDB does not say where it is declared; this is its first usage",
				usages: member ? [] : usages,
				...(member && { possible: { count: usages.length, files: paths } }),
			};
			return { symbol, definitions: [definition] };
		},
	},

	impact: {
		tool: "analyze_change_impact",
		args({ modify = [], create = [], delete: deleted = [], symbols }, files) {
			const about = symbols && symbols.length > 0 ? ` of ${symbols.join(", ")}` : "";
			const paths = [...modify, ...create, ...deleted].join(", ");
			return {
				// KotaDB requires this field, but it does not affect the result.
				change_type: "refactor",
				description: printable(`Change${about} in ${paths}`),
				files_to_modify: modify.map(files.within),
				files_to_create: create.map(files.within),
				files_to_delete: deleted.map(files.within),
			};
		},
		/** Drops missing tests, since KotaDB invents some. */
		read(answer, { modify = [], create = [], delete: deleted = [] }, files) {
			const scope = answer.field("test_scope");
			const named = new Set([...modify, ...create, ...deleted].map(files.within));
			const missing = [...modify, ...deleted].filter((path) => files.find(path) === undefined);
			const testPaths = (name: string) =>
				files.findAll(scope.list(name).map((item) => item.path()));
			const reaching = testPaths("test_files");
			const recommended = testPaths("recommended_test_files");
			const risk = answer.field("risk_level").text().toLowerCase();
			return {
				// An unknown level counts as high.
				risk: risk === "low" || risk === "medium" ? risk : "high",
				summary: answer.field("summary").text(),
				affected: readAffected(answer, files).filter(({ path }) => !named.has(path)),
				symbols: [],
				tests: [
					...reaching.map((path) => ({ path, depth: 1, via: "import" as const })),
					...recommended
						.filter((path) => !reaching.includes(path))
						.map((path) => ({ path, depth: 1, via: "name" as const })),
				],
				warnings: [
					...missing.map((path) => `${path} does not exist`),
					...readWarnings(answer.list("architectural_warnings")),
					...readWarnings(answer.list("conflicts")),
				],
			};
		},
	},

	taskContext: {
		tool: "generate_task_context",
		args(query, files) {
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
		},
		/** KotaDB does not report what the files depend on. */
		read(answer, { files: asked, includeTests = true, maxImpactedFiles = 20 }, files) {
			const targets = answer
				.field("targetFiles")
				.items()
				.flatMap((item) => {
					const path = files.find(item.path());
					const dependentCount = item.field("dependentCount").count();
					const symbols = item.list("symbols").map((one) => one.symbol().brief());
					return path === undefined ? [] : [{ path, dependencies: [], dependentCount, symbols }];
				});
			const found = new Set(targets.map(({ path }) => path));
			const impacted = answer.field("impactedFiles").paths(files);
			const tests = answer.list("testFiles");
			return {
				targets,
				impacted: impacted.slice(0, maxImpactedFiles).map((path) => atDepth(path, 1)),
				impactedCount: impacted.length,
				tests: includeTests ? files.findAll(tests.map((item) => item.path())) : [],
				unknown: asked.map(files.within).filter((path) => !found.has(path)),
			};
		},
	},
};

const MAX_DEPTH = 5;
const MAX_WARNINGS = 20;

function atDepth(path: string, depth: number): FileAtDepth {
	return { path, depth, kinds: [], isTest: isTestPath(path) };
}

function readSide(side: AnswerPart, files: ProjectFiles) {
	const reached = new Map<string, FileAtDepth>();
	const take = (list: AnswerPart, depth: number): void => {
		for (const path of list.paths(files)) {
			if ((reached.get(path)?.depth ?? Number.POSITIVE_INFINITY) > depth) {
				reached.set(path, atDepth(path, depth));
			}
		}
	};
	take(side.field("direct"), 1);
	for (const [key, list] of side.field("indirect").entries()) {
		take(list, Number(key.match(/^depth_(\d+)$/)?.[1] ?? 2));
	}
	const cycles = side.list("cycles").map((cycle) => cycle.paths(files));
	return {
		reached: [...reached.values()].toSorted((a, b) => a.depth - b.depth),
		cycles: cycles.filter((cycle) => cycle.length > 1),
	};
}

function readUnresolved(item: AnswerPart): DependenciesAnswer["unresolved"][number] {
	if (item.isText) return { specifier: item.text(), line: 1 };
	return {
		specifier: item.field("import_source", "specifier", "source").text(),
		line: item.field("line", "line_number").position(),
	};
}

/** Drops duplicates: both directions report the same cycles, rotated. */
function distinct(cycles: readonly string[][]): string[][] {
	return [...new Map(cycles.map((cycle) => [cycle.toSorted().join("\n"), cycle])).values()];
}

function memberOf(symbol: string): { owner: string; name: string } | undefined {
	const dot = symbol.lastIndexOf(".");
	if (dot <= 0 || dot === symbol.length - 1) return undefined;
	return { owner: symbol.slice(0, dot), name: symbol.slice(dot + 1) };
}

function readUsage(item: AnswerPart, files: ProjectFiles): Usage[] {
	const column = item.field("column").position();
	const path = files.find(item.path());
	const line = Math.max(1, item.field("line").count());
	const kind = usageKind(item.field("usage_type").value);
	return path === undefined ? [] : [{ path, line, column, kind, isTest: isTestPath(path) }];
}

function placeOf(
	text: string | undefined,
	files: ProjectFiles,
): { path: string; line: number } | undefined {
	if (text === undefined) return undefined;
	const [, name = text, line] = text.match(/^(.*?):(\d+)(?::\d+)?$/) ?? [];
	const path = files.find(name);
	return path === undefined ? undefined : { path, line: positionOf(Number(line)) };
}

/** KotaDB gives the distance in words; "indirect" counts as two steps. */
function readAffected(answer: AnswerPart, files: ProjectFiles): FileAtDepth[] {
	const affected = new Map<string, FileAtDepth>();
	for (const item of answer.field("affected_files").items()) {
		const path = files.find(item.path());
		if (path === undefined || affected.has(path)) continue;
		const reason = item.isText ? "" : item.field("reason").textOr("");
		affected.set(path, atDepth(path, /indirect|transitive/i.test(reason) ? 2 : 1));
	}
	return [...affected.values()];
}

function readWarnings(list: AnswerPart[]): string[] {
	return list
		.slice(0, MAX_WARNINGS)
		.map((item) => (item.isText ? item : item.field("message", "description", "title")).text());
}
