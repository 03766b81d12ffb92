import {
	CodeIndexError,
	type DependenciesAnswer,
	type DependenciesQuery,
	type FileAtDepth,
	isTestPath,
} from "../../codeindex/index.ts";
import { readPaths, type Uncovered } from "./answer-parts.ts";
import type { ProjectFiles } from "./project-files.ts";
import { listOrNone, positionOf, type Shape, shapeOf, textOr } from "./shape.ts";
import { edgeWords } from "./vocabulary.ts";

/** The arguments of KotaDB's `search_dependencies` for a question of ours. */
export function dependenciesArguments(
	{ path, direction = "both", depth = 1, kinds }: DependenciesQuery,
	files: ProjectFiles,
): Record<string, unknown> {
	const words = kinds && edgeWords(kinds);
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
		// Its own filter drops latest.ts and inspector.ts as well.
		include_tests: true,
		...(words && { reference_types: words }),
	};
}

/** What `search_dependencies` answered. Kinds of edges and packages it does not tell. */
export function dependenciesAnswer(
	data: unknown,
	{ path, direction = "both", includeTests = true }: DependenciesQuery,
	files: ProjectFiles,
): Uncovered<DependenciesAnswer> {
	const shape = shapeOf("search_dependencies");
	const answer = shape.object(data, "the answer");
	const message = textOr(answer.message, "");
	if (/not found/i.test(message)) throw notIndexed(path);
	const side = (name: "dependents" | "dependencies") =>
		direction === "both" || direction === name
			? readSide(shape, answer[name], name, files)
			: { reached: [], cycles: [] };
	const dependents = side("dependents");
	const dependencies = side("dependencies");
	const wanted = (file: FileAtDepth) => includeTests || !file.isTest;
	return {
		file: files.within(path),
		dependents: dependents.reached.filter(wanted),
		dependencies: dependencies.reached.filter(wanted),
		cycles: distinct([...dependents.cycles, ...dependencies.cycles]),
		unresolved: readUnresolved(shape, answer.unresolved_imports),
		external: [],
	};
}

const MAX_DEPTH = 5;

function notIndexed(path: string): CodeIndexError {
	return new CodeIndexError(
		"unknown-file",
		`${path} is not in KotaDB's index. If it is new, kota_index takes it in`,
	);
}

function readSide(
	shape: Shape,
	value: unknown,
	place: string,
	files: ProjectFiles,
): { reached: FileAtDepth[]; cycles: string[][] } {
	const side = shape.object(value, place);
	const reached = new Map<string, FileAtDepth>();
	take(shape.list(side.direct, `${place}.direct`), `${place}.direct`, 1);
	const deeper =
		side.indirect === undefined ? {} : shape.object(side.indirect, `${place}.indirect`);
	for (const [key, list] of Object.entries(deeper)) {
		const at = `${place}.indirect.${key}`;
		const depth = Number(key.match(/^depth_(\d+)$/)?.[1] ?? 2);
		take(shape.list(list, at), at, depth);
	}
	const cycles = listOrNone(shape, side.cycles, `${place}.cycles`).map((cycle, index) =>
		readPaths(shape, cycle, `${place}.cycles[${index}]`, files),
	);
	return {
		reached: [...reached.values()].toSorted((a, b) => a.depth - b.depth),
		cycles: cycles.filter((cycle) => cycle.length > 1),
	};

	function take(list: readonly unknown[], at: string, depth: number): void {
		for (const path of readPaths(shape, list, at, files)) {
			if ((reached.get(path)?.depth ?? Number.POSITIVE_INFINITY) <= depth) continue;
			reached.set(path, { path, depth, kinds: [], isTest: isTestPath(path) });
		}
	}
}

function readUnresolved(shape: Shape, value: unknown): DependenciesAnswer["unresolved"] {
	const place = "unresolved_imports";
	return listOrNone(shape, value, place).map((item, index) => {
		if (typeof item === "string") return { specifier: item, line: 1 };
		const fields = shape.object(item, `${place}[${index}]`);
		const specifier = fields.import_source ?? fields.specifier ?? fields.source;
		return {
			specifier: shape.text(specifier, `${place}[${index}].import_source`),
			line: positionOf(fields.line ?? fields.line_number),
		};
	});
}

/** Both directions tell of the same cycles, each from another start. */
function distinct(cycles: readonly string[][]): string[][] {
	return [...new Map(cycles.map((cycle) => [cycle.toSorted().join("\n"), cycle])).values()];
}
