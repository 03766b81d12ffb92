import {
	type Definition,
	isTestPath,
	type Usage,
	type UsagesAnswer,
	type UsagesQuery,
} from "../../codeindex/index.ts";
import { compareText } from "../../core/compare-text.ts";
import type { Uncovered } from "./answer-parts.ts";
import type { ProjectFiles } from "./project-files.ts";
import { positionOf, type Shape, shapeOf, textOr } from "./shape.ts";
import { symbolKind, usageKind } from "./vocabulary.ts";

/** The arguments of KotaDB's `find_usages` for a question of ours. */
export function usagesArguments(
	{ symbol, file }: UsagesQuery,
	files: ProjectFiles,
): Record<string, unknown> {
	return {
		// It knows members by their own names only.
		symbol: memberOf(symbol)?.name ?? symbol,
		...(file !== undefined && { file: files.existing(file) }),
		include_definitions: false,
		include_tests: true,
	};
}

/**
 * What `find_usages` answered. It compares names: it takes the first definition of a name for all of them, and which
 * class the uses of a member belong to it cannot say.
 */
export function usagesAnswer(
	data: unknown,
	{ symbol, includeTests = true }: UsagesQuery,
	files: ProjectFiles,
): Uncovered<UsagesAnswer> {
	const shape = shapeOf("find_usages");
	const answer = shape.object(data, "the answer");
	const usages = readUsages(shape, answer.usages, files).filter(
		(usage) => includeTests || !usage.isTest,
	);
	const definedAt = textOr(answer.defined_in, undefined);
	const at = definedAt === undefined ? undefined : placeOf(definedAt, files);
	const [first] = usages;
	if (!at && !first) return { symbol, definitions: [] };
	const member = memberOf(symbol);
	const definition: Definition = {
		path: at?.path ?? first?.path ?? "",
		line: at?.line ?? first?.line ?? 1,
		column: at ? 1 : (first?.column ?? 1),
		kind: symbolKind(answer.kind),
		...(member && { owner: member.owner }),
		exported: false,
		signature: at ? "" : "KotaDB does not say where it is declared; this is its first usage",
		usages: member ? [] : usages,
		...(member && {
			possible: {
				count: usages.length,
				files: [...new Set(usages.map(({ path }) => path))],
			},
		}),
	};
	return { symbol, definitions: [definition] };
}

function memberOf(symbol: string): { owner: string; name: string } | undefined {
	const dot = symbol.lastIndexOf(".");
	if (dot <= 0 || dot === symbol.length - 1) return undefined;
	return { owner: symbol.slice(0, dot), name: symbol.slice(dot + 1) };
}

function readUsages(shape: Shape, value: unknown, files: ProjectFiles): Usage[] {
	const usages: Usage[] = [];
	for (const [index, item] of shape.list(value, "usages").entries()) {
		const fields = shape.object(item, `usages[${index}]`);
		const path = files.find(shape.path(item, `usages[${index}]`));
		const line = shape.count(fields.line, `usages[${index}].line`);
		if (path === undefined) continue;
		usages.push({
			path,
			line: Math.max(1, line),
			column: positionOf(fields.column),
			kind: usageKind(fields.usage_type),
			isTest: isTestPath(path),
		});
	}
	return usages.sort(byPlace);
}

function byPlace(a: Usage, b: Usage): number {
	return compareText(a.path, b.path) || a.line - b.line || a.column - b.column;
}

/** `src/a.ts:12` */
function placeOf(text: string, files: ProjectFiles): { path: string; line: number } | undefined {
	const [, name = text, line] = text.match(/^(.*?):(\d+)(?::\d+)?$/) ?? [];
	const path = files.find(name);
	return path === undefined ? undefined : { path, line: positionOf(Number(line)) };
}
