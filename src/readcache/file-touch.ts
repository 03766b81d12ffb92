import type { ToolResultItem } from "../context/index.ts";
import { matchesAny } from "../core/glob.ts";
import { property } from "../core/property.ts";
import { foldReadInput } from "../core/read-input.ts";
import {
	isDerived,
	type LineRange,
	parseMetadata,
	parseUntracked,
	shownRange,
} from "./metadata.ts";
import { isEditingTool, parseOwnEdit } from "./own-edit.ts";
import { pathCandidates } from "./read-path.ts";

/** What a tool result has to do with one file. */
export interface FileTouch {
	/** Its real path where that was noted, else the path that was asked for. */
	file: string;
	/** Text of it stands in the result; the result stands for text shown before; or the file became another. */
	kind: "shown" | "refers" | "changed";
	/** The lines shown; all if absent. */
	lines?: LineRange;
}

/** The file that a `read`, `edit` or `write` was about; `undefined` for other tools and for what names no file. */
export function fileTouchOf(item: ToolResultItem, cwd: string): FileTouch | undefined {
	const { toolName, details, input } = item;
	if (isEditingTool(toolName)) {
		const file = parseOwnEdit(details)?.pathKey ?? namedFile(input, cwd);
		return file === undefined ? undefined : { file, kind: "changed" };
	}
	if (toolName !== "read") return undefined;
	const meta = parseMetadata(details);
	if (!meta) {
		const asked = foldReadInput(input);
		const file = parseUntracked(details) ?? namedFile(asked, cwd);
		return file === undefined ? undefined : { file, kind: "shown", ...askedLines(asked, details) };
	}
	if (isDerived(meta.mode)) return { file: meta.pathKey, kind: "refers" };
	const lines = shownRange(meta);
	const isWhole = lines.start === 1 && lines.end === meta.totalLines;
	return { file: meta.pathKey, kind: "shown", ...(!isWhole && { lines }) };
}

/** Whether a result may hold text of a file on the list of excluded ones, by the paths and words of its call. */
export function touchesExcluded(
	{ input, details }: Pick<ToolResultItem, "input" | "details">,
	exclude: readonly string[],
): boolean {
	const noted = [parseMetadata(details)?.pathKey, parseUntracked(details)];
	const words = stringsIn(input).flatMap((text) => text.split(/[\s"'`=:;|&<>()]+/));
	return [...noted, ...words].some((path) => path !== undefined && matchesAny(exclude, path));
}

/** The lines of a read that left no note: what was asked for, as far as pi did not cut it off. */
function askedLines(input: unknown, details: unknown): Pick<FileTouch, "lines"> {
	const start = lineNumber(property(input, "offset")) ?? 1;
	const limit = lineNumber(property(input, "limit")) ?? Number.POSITIVE_INFINITY;
	const truncation = property(details, "truncation");
	const isCut = property(truncation, "truncated") === true;
	const shown = isCut ? (lineNumber(property(truncation, "outputLines")) ?? 1) : limit;
	const count = Math.min(limit, shown);
	if (start === 1 && count === Number.POSITIVE_INFINITY) return {};
	return { lines: { start, end: start + count - 1 } };
}

function lineNumber(value: unknown): number | undefined {
	return typeof value === "number" && value >= 1 ? value : undefined;
}

function namedFile(input: unknown, cwd: string): string | undefined {
	const path = property(input, "path");
	if (typeof path !== "string") return undefined;
	try {
		return pathCandidates(path, cwd)[0];
	} catch {
		return undefined; // a URL that names no file
	}
}

/** The texts of a call's arguments; further down than a list nobody hides a path. */
function stringsIn(input: unknown): string[] {
	if (typeof input !== "object" || input === null) return [];
	return Object.values(input)
		.flat()
		.filter((value): value is string => typeof value === "string");
}
