import { isUtf8 } from "node:buffer";
import { realpath } from "node:fs/promises";
import { getOrAdd } from "../core/get-or-add.ts";
import { matchesAny } from "../core/glob.ts";
import { type Hash, hashBytes } from "../core/hash.ts";
import { type Lines, linesOf } from "../core/lines.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { parseShorthand, pathCandidates } from "../session/read-path.ts";
import type { LineRange } from "./metadata.ts";

/** A cacheable file: ordinary text, read once. */
export interface TextFile {
	readonly pathKey: string;
	readonly lines: Lines;
	readonly hash: Hash;
}

export interface Eligibility {
	readonly maxFileBytes: number;
	/** Globs that are matched against the requested and the real path. */
	readonly exclude: readonly string[];
}

/** Empty for a URL that does not name a file. */
export function candidatesOf(path: string, cwd: string): string[] {
	try {
		return pathCandidates(path, cwd);
	} catch {
		return [];
	}
}

export interface FoundFile {
	readonly path: string;
	/** Real path, with all links resolved. */
	readonly pathKey: string;
}

export async function firstExisting(candidates: string[]): Promise<FoundFile | undefined> {
	for (const path of candidates) {
		try {
			return { path, pathKey: await realpath(path) };
		} catch {
			// Missing or unreachable. Pi also tries the next spelling.
		}
	}
	return undefined;
}

/** A path that exists as written takes precedence over shorthand with a line range. */
export async function locate(path: string, cwd: string, hasRange: boolean) {
	const asWritten = await firstExisting(pathCandidates(path, cwd));
	const shorthand = asWritten || hasRange ? undefined : parseShorthand(path);
	if (!shorthand) return { found: asWritten, shorthand };
	return { found: await firstExisting(pathCandidates(shorthand.path, cwd)), shorthand };
}

/** Never throws, since pi reports the error. */
export async function readTextFile(
	{ path, pathKey }: FoundFile,
	{ maxFileBytes, exclude }: Eligibility,
): Promise<TextFile | { why: "excluded" | "not-a-file" | "too-big" | "not-text" | "unreadable" }> {
	if (isExcluded(exclude, pathKey) || isExcluded(exclude, path)) return { why: "excluded" };
	const file = await readRegularFile(pathKey, maxFileBytes).catch(() => undefined);
	if (file?.kind === "refused") return { why: file.reason };
	if (file?.kind !== "read") return { why: "unreadable" };
	const { bytes } = file;
	if (!isUtf8(bytes) || bytes.includes(0) || beginsAsImage(bytes)) return { why: "not-text" };
	return { pathKey, lines: linesOf(bytes), hash: hashBytes(bytes) };
}

const MAX_MEMOIZED = 1000;
const memo = new WeakMap<readonly string[], Map<string, boolean>>();

/** Memoized per list, since matching takes a tenth of a small file's read and files are read repeatedly. */
export function isExcluded(exclude: readonly string[], path: string): boolean {
	const answers = getOrAdd(memo, exclude, () => new Map<string, boolean>());
	if (answers.size === MAX_MEMOIZED && !answers.has(path)) answers.clear();
	return getOrAdd(answers, path, () => matchesAny(exclude, path));
}

/** Detects image formats that pi detects and that may lack a NUL byte. */
function beginsAsImage(bytes: Buffer): boolean {
	return /^(GIF8[79]a|RIFF.{4}WEBP)/s.test(bytes.toString("latin1", 0, 12));
}

export interface WindowLimits {
	readonly maxLines: number;
	readonly maxBytes: number;
}

/** The part of a range that pi's `read` shows. */
export type Window =
	| { kind: "lines"; end: number; bytes: number; cutBy?: "lines" | "bytes" }
	/** Even the first line exceeds the limit. */
	| { kind: "nothing" };

/** Computes pi's truncation from the line index, without building the text. */
export function windowOf(lines: Lines, range: LineRange, limits: WindowLimits): Window {
	const { start, end } = range;
	const bytes = lines.size(start, end);
	// Pi does not count the empty "line" after a final newline.
	const countedEnd = end > start && lines.size(end, end) === 0 ? end - 1 : end;
	if (countedEnd - start + 1 <= limits.maxLines && bytes <= limits.maxBytes) {
		return { kind: "lines", end, bytes };
	}
	if (lines.size(start, start) > limits.maxBytes) return { kind: "nothing" };
	const lastByCount = Math.min(countedEnd, start + limits.maxLines - 1);
	const cutAfter = (last: number, cutBy: "lines" | "bytes"): Window => {
		return { kind: "lines", end: last, bytes: lines.size(start, last), cutBy };
	};
	if (lines.size(start, lastByCount) <= limits.maxBytes) return cutAfter(lastByCount, "lines");
	let fits = start;
	for (let over = lastByCount; over - fits > 1; ) {
		const middle = (fits + over) >> 1;
		if (lines.size(start, middle) <= limits.maxBytes) fits = middle;
		else over = middle;
	}
	return cutAfter(fits, "bytes");
}

export function continuationLine(
	shown: LineRange,
	totalLines: number,
	cutBy: "lines" | "bytes",
	limits: WindowLimits,
): string {
	const limit = cutBy === "bytes" ? ` (${(limits.maxBytes / 1024).toFixed(1)}KB limit)` : "";
	return `[Showing lines ${shown.start}-${shown.end} of ${totalLines}${limit}. Use offset=${shown.end + 1} to continue.]`;
}
