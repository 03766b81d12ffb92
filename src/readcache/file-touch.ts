import { realpathSync } from "node:fs";
import { property } from "../core/property.ts";
import { decodePageToken, foldReadInput } from "../core/read-input.ts";
import type { ToolResultItem } from "../session/index.ts";
import {
	addressedPath,
	isEditingTool,
	parseShorthand,
	pathCandidates,
} from "../session/read-path.ts";
import {
	isDerived,
	type LineRange,
	parseMetadata,
	parseUntracked,
	shownRange,
} from "./metadata.ts";
import { parseOwnEdit } from "./own-edit.ts";
import { isExcluded } from "./text-file.ts";

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

/**
 * Whether a result may hold text of a file on the list of excluded ones, by the paths and words of its call, and by what
 * lies behind them if they are links. A `read` notes where a link led; of other calls, it counts where it leads now.
 */
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
	const named = new Set(paths.flatMap((some) => some.slice(0, MOST_PATHS)));
	return [...named].some((path) => filesBehind(path, cwd).some(matches));
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
	return candidatesOf(path, cwd)[0];
}

/** The texts in a call's arguments; further down nobody hides a path. */
function stringsIn(input: unknown, levels = 8): string[] {
	if (typeof input === "string") return [input];
	if (typeof input !== "object" || input === null || levels === 0) return [];
	return Object.values(input).flatMap((value) => stringsIn(value, levels - 1));
}

/** The words of a command. Of one with braces or brackets also its parts: a shell makes several of it. */
function wordsIn(text: string): string[] {
	const words = text.split(/[\s"'`=:;|&<>()]+/);
	return words.flatMap((word) => [word, ...(/[{},[\]]/.test(word) ? word.split(/[{},[\]]+/) : [])]);
}

/** Each path costs a look at the disk; a call names few, and a file that is written may hold thousands. */
const MOST_PATHS = 100;

function looksLikePath(word: string): boolean {
	return isShort(word) && /[\w~]/.test(word) && /[./]/.test(word);
}

/** Nothing longer is a path. */
function isShort(text: string): boolean {
	return text !== "" && text.length <= 4096;
}

/** The real paths of the files that a call may mean by a text, as far as they exist. */
function filesBehind(text: string, cwd: string): string[] {
	const named = decodePageToken(text)?.uri ?? text;
	const shorthand = parseShorthand(named)?.path;
	const written = shorthand === undefined ? [named] : [named, shorthand];
	return written.flatMap((path) => {
		const addressed = addressedPath(path, cwd);
		return [...candidatesOf(path, cwd), ...(addressed ? [addressed] : [])].flatMap(realPath);
	});
}

function candidatesOf(path: string, cwd: string): string[] {
	try {
		return pathCandidates(path, cwd);
	} catch {
		return []; // a URL that names no file
	}
}

function realPath(path: string): string[] {
	try {
		return [realpathSync.native(path)];
	} catch {
		return []; // nothing is there
	}
}
