import { property } from "../core/property.ts";
import { decodePageToken, foldReadInput } from "../core/read-input.ts";
import type { ToolResultItem } from "../session/index.ts";
import { addressedPath, isEditingTool, parseShorthand, realPath } from "../session/read-path.ts";
import {
	isDerived,
	type LineRange,
	parseMetadata,
	parseOwnEdit,
	parseUntracked,
	shownRange,
} from "./metadata.ts";
import { candidatesOf, isExcluded } from "./text-file.ts";

/** How a tool result relates to one file. */
interface FileTouch {
	/** The real path if it was noted, otherwise the requested path. */
	readonly file: string;
	/** `shown`: contains its text. `refers`: refers to earlier text. `changed`: changed the file. */
	readonly kind: "shown" | "refers" | "changed";
	/** Absent means all lines. */
	readonly lines?: LineRange;
}

/** `undefined` for tools other than `read`, `edit` and `write`. */
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

/** Whether a result may contain text of an excluded file, because its call names the file or a link to it. */
export function touchesExcluded(
	{ input, details }: Pick<ToolResultItem, "input" | "details">,
	exclude: readonly string[],
	cwd: string,
): boolean {
	const matches = (path: string | undefined) => path !== undefined && isExcluded(exclude, path);
	const texts = stringsIn(input);
	const words = [...new Set(texts.flatMap(wordsIn))];
	const noted = [parseMetadata(details)?.pathKey, parseUntracked(details)];
	if (noted.some(matches) || words.some(matches)) return true;
	const paths = [texts.filter(isShort), words.filter(looksLikePath)];
	const named = new Set(paths.flatMap((some) => some.slice(0, MAX_PATHS)));
	return [...named].some((path) => filesBehind(path, cwd).some(matches));
}

/** For reads without metadata: the requested lines, without those that pi cut off. */
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
	return typeof path === "string" ? candidatesOf(path, cwd)[0] : undefined;
}

/** Ignores levels below `levels`, which contain no paths. */
function stringsIn(input: unknown, levels = 8): string[] {
	if (typeof input === "string") return [input];
	if (typeof input !== "object" || input === null || levels === 0) return [];
	return Object.values(input).flatMap((value) => stringsIn(value, levels - 1));
}

/** Also splits words with braces or brackets, since a shell expands them. */
function wordsIn(text: string): string[] {
	const words = text.split(/[\s"'`=:;|&<>()]+/);
	return words.flatMap((word) => [word, ...(/[{},[\]]/.test(word) ? word.split(/[{},[\]]+/) : [])]);
}

/** Maximum paths per list. Each path costs disk lookups, and a written file may contain thousands. */
const MAX_PATHS = 100;

function looksLikePath(word: string): boolean {
	return isShort(word) && /[\w~]/.test(word) && /[./]/.test(word);
}

/** Longer text cannot be a path. */
function isShort(text: string): boolean {
	return text !== "" && text.length <= 4096;
}

function filesBehind(text: string, cwd: string): string[] {
	const named = decodePageToken(text)?.uri ?? text;
	const shorthand = parseShorthand(named)?.path;
	const written = shorthand === undefined ? [named] : [named, shorthand];
	return written.flatMap((path) => {
		const addressed = addressedPath(path, cwd);
		const spellings = [...candidatesOf(path, cwd), ...(addressed ? [addressed] : [])];
		return spellings.flatMap((one) => realPath(one) ?? []);
	});
}
