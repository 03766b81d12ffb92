import type { QueryOf } from "../codeindex/index.ts";
import type { ToolCalls } from "./tool-definitions.ts";

const CAPS = {
	limit: 50,
	contextLines: 5,
	depth: 3,
	files: 50,
	impactedFiles: 200,
} as const;

type FindPath = (path: string) => string;
type FindTarget = (target: string) => QueryOf<"outline">;

export type SearchInput = Required<Omit<ToolCalls["kota_search"], "context_lines">> & {
	readonly contextLines: number;
};

/** Defaults: `scope` code, `output` compact, `limit` 15, `context_lines` 1. */
export function searchInput(call: ToolCalls["kota_search"]): SearchInput {
	const { query, scope, output = "compact", filters = {} } = call;
	return {
		query: required("query", query),
		output,
		scope: scope && scope.length > 0 ? scope : ["code"],
		limit: within(call.limit, 15, 1, CAPS.limit),
		contextLines: within(call.context_lines, 1, 0, CAPS.contextLines),
		filters,
	};
}

export function searchQuery(input: SearchInput): QueryOf<"search"> {
	const { glob, exclude, language, symbol_kind, exported_only, include_tests } = input.filters;
	return {
		query: input.query,
		scope: input.scope,
		limit: input.limit,
		// Output `paths` needs no lines, and `compact` needs no context.
		...(input.output !== "paths" && {
			contextLines: input.output === "snippet" ? input.contextLines : 0,
		}),
		...(glob && { glob }),
		...(exclude && exclude.length > 0 && { exclude }),
		...(language && { language }),
		...(symbol_kind && symbol_kind.length > 0 && { symbolKinds: symbol_kind }),
		...(exported_only !== undefined && { exportedOnly: exported_only }),
		...(include_tests !== undefined && { includeTests: include_tests }),
	};
}

export type DepsInput = Required<Omit<QueryOf<"dependencies">, "kinds">>;

/** Defaults: `direction` both, `depth` 1, no tests. */
export function depsInput(call: ToolCalls["kota_deps"], find: FindPath): DepsInput {
	return {
		path: find(required("file_path", call.file_path)),
		direction: call.direction ?? "both",
		depth: within(call.depth, 1, 1, CAPS.depth),
		includeTests: call.include_tests ?? false,
	};
}

export type OutlineInput = QueryOf<"outline">;

/** `target` is a file, a name, `Owner.member`, or `file#Owner.member`. */
export function outlineInput(call: ToolCalls["kota_outline"], target: FindTarget): OutlineInput {
	return target(required("target", call.target));
}

/** Throws if only a file is named. */
export function symbolInput(call: ToolCalls["kota_symbol"], target: FindTarget): QueryOf<"symbol"> {
	const { file, symbol } = target(required("symbol", call.symbol));
	if (symbol === undefined) {
		throw new Error(`${file} is a file: name a symbol in it, as in ${file}#name, or read it`);
	}
	return { symbol, ...(file !== undefined && { file }) };
}

export type UsagesInput = QueryOf<"usages"> & { readonly includeTests: boolean };

/** Defaults: definitions in all files, no usages in tests. */
export function usagesInput(call: ToolCalls["kota_usages"], find: FindPath): UsagesInput {
	return {
		symbol: required("symbol", call.symbol),
		...(call.file && { file: find(call.file) }),
		includeTests: call.include_tests ?? false,
	};
}

/** Throws if no file is named. */
export function impactQuery(call: ToolCalls["kota_impact"], find: FindPath): QueryOf<"impact"> {
	const modify = paths(call.files_to_modify, find);
	const create = paths(call.files_to_create, find);
	const deleted = paths(call.files_to_delete, find);
	if (modify.length + create.length + deleted.length === 0) {
		throw new Error(
			"kota_impact needs to know what changes: name files in files_to_modify, files_to_create or files_to_delete",
		);
	}
	const symbols = (call.symbols ?? []).filter((name) => name.trim() !== "");
	return { modify, create, delete: deleted, ...(symbols.length > 0 && { symbols }) };
}

export type TaskContextInput = Required<QueryOf<"taskContext">>;

/** Defaults: with tests, without symbols, 20 impacted files. */
export function taskContextInput(
	call: ToolCalls["kota_task_context"],
	find: FindPath,
): TaskContextInput {
	const files = paths(call.files, find);
	if (files.length === 0) throw new Error("kota_task_context needs at least one path in files");
	return {
		files,
		includeTests: call.include_tests ?? true,
		includeSymbols: call.include_symbols ?? false,
		maxImpactedFiles: within(call.max_impacted_files, 20, 0, CAPS.impactedFiles),
	};
}

function within(value: number | undefined, fallback: number, least: number, most: number): number {
	if (value === undefined || Number.isNaN(value)) return fallback;
	return Math.min(most, Math.max(least, Math.floor(value)));
}

function required(name: string, value: string): string {
	const trimmed = value.trim();
	if (trimmed === "") throw new Error(`${name} is empty: say what to look for`);
	return trimmed;
}

function paths(named: readonly string[] | undefined, find: FindPath): string[] {
	const given = (named ?? []).map((path) => path.trim()).filter((path) => path !== "");
	if (given.length > CAPS.files) {
		throw new Error(`${given.length} files are too many at once: name at most ${CAPS.files}`);
	}
	return [...new Set(given.map(find))];
}
