import type { SymbolBrief } from "../../codeindex/index.ts";
import type { ProjectFiles } from "./project-files.ts";
import { positionOf, type Shape, textOr } from "./shape.ts";
import { symbolKind } from "./vocabulary.ts";

/** An answer without what is the same in all of them. */
export type Uncovered<Answer> = Omit<Answer, "coverage">;

/** The files of a list that are there. */
export function readPaths(
	shape: Shape,
	value: unknown,
	place: string,
	files: ProjectFiles,
): string[] {
	const paths = shape.list(value, place).map((item, index) => {
		return shape.path(item, `${place}[${index}]`);
	});
	return files.findAll(paths);
}

/** A symbol whose file is known. */
export function symbolBrief(shape: Shape, item: unknown, place: string): SymbolBrief {
	const fields = shape.object(item, place);
	const at = fields.location === undefined ? fields : shape.object(fields.location, place);
	const name = shape.text(fields.name, `${place}.name`);
	const line = positionOf(at.line_start ?? at.line);
	const doc = textOr(fields.documentation, undefined);
	return {
		name,
		kind: symbolKind(fields.kind),
		line,
		endLine: Math.max(line, positionOf(at.line_end)),
		exported: (fields.is_exported ?? fields.exported) === true,
		signature: textOr(fields.signature, name),
		...(doc !== undefined && { doc }),
	};
}
