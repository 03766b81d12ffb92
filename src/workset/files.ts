import { opendir, realpath } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { errnoOf } from "../core/errno.ts";
import { matchesAny } from "../core/glob.ts";
import { hashBytes } from "../core/hash.ts";
import { isWithin } from "../core/places.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { estimateTokens } from "../core/tokens.ts";

type CurrentFile =
	| { readonly path: string; readonly text: string; readonly hash: string; readonly tokens: number }
	| { readonly path: string; readonly why: string };

type Limits = {
	readonly tiers: { maxFileBytes: number };
	readonly readcache: { exclude: readonly string[] };
};

/** `why` says why the file cannot be used. Messages print it after the path. */
export async function readWorkingFile(
	root: string,
	path: string,
	{ tiers: { maxFileBytes }, readcache: { exclude } }: Limits,
): Promise<CurrentFile> {
	const unusable = (why: string): CurrentFile => ({ path, why });
	if (matchesAny(exclude, path)) return unusable("is on the list of excluded files");
	try {
		const [home, real] = await Promise.all([realpath(root), realpath(join(root, path))]);
		if (pathBelow(home, real) === undefined) return unusable("leads out of the project");
		if (matchesAny(exclude, real)) return unusable("is on the list of excluded files");
		const file = await readRegularFile(real, maxFileBytes);
		if (file.kind === "missing") return unusable("does not exist");
		if (file.kind === "refused") {
			const tooBig = `is larger than ${maxFileBytes} bytes (tiers.maxFileBytes)`;
			return unusable(file.reason === "too-big" ? tooBig : "is not a file");
		}
		const text = textOf(file.bytes);
		if (text === undefined) return unusable("is not text");
		return { path, text, hash: hashBytes(text), tokens: estimateTokens(text.length) };
	} catch (error) {
		const code = errnoOf(error);
		if (code === "ENOENT" || code === "ENOTDIR") return unusable("does not exist");
		if (code === "EISDIR") return unusable("is not a file");
		return unusable(`cannot be read (${code ?? "unknown error"})`);
	}
}

/** The path relative to the project root, with forward slashes; `undefined` outside the project. */
export function projectPath(root: string, written: string): string | undefined {
	return pathBelow(root, resolve(root, written))?.split(sep).join("/");
}

function pathBelow(folder: string, path: string): string | undefined {
	return isWithin(folder, path) ? relative(folder, path) : undefined;
}

export function isPattern(word: string): boolean {
	return /[*?]/.test(word);
}

/** Patterns are anchored at the project's root. */
export function matchesPattern(pattern: string, path: string): boolean {
	return matchesAny([`/${pattern.replace(/^(\.?\/)+/, "")}`], `/${path}`);
}

/** Folders that a search enters only if the pattern names them. */
const SKIPPED = new Set(["node_modules", ".git", ".pi", "dist", "build", "coverage"]);

/** Maximum number of folder entries that a search visits. */
export const MAX_ENTRIES = 100_000;

/** Returns sorted paths. Enters only folders that can match. `cut`: the search stopped at `maxEntries`. */
export async function filesMatching(
	root: string,
	pattern: string,
	maxEntries = MAX_ENTRIES,
): Promise<{ files: string[]; cut: boolean }> {
	const files: string[] = [];
	const names = namesIn(pattern);
	const firstOpen = names.findIndex(isPattern);
	const folders = [""];
	let seen = 0;
	for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
		const entries = await opendir(join(root, folder)).catch(() => undefined);
		if (!entries) continue; // the folder is unreadable or was deleted
		const isOnTheWay = depthOf(folder) < firstOpen;
		for await (const entry of entries) {
			if (!isOnTheWay && ++seen > maxEntries) return { files: files.sort(), cut: true };
			const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
			const isSkipped = SKIPPED.has(entry.name) && !names.includes(entry.name);
			if (entry.isDirectory() && !isSkipped && mayHold(names, path)) folders.push(path);
			else if (entry.isFile() && matchesPattern(pattern, path)) files.push(path);
		}
	}
	return { files: files.sort(), cut: false };
}

/** A trailing slash matches all files below the folder. */
function namesIn(pattern: string): string[] {
	const slashed = pattern.replaceAll(sep, "/");
	const names = slashed.split("/").filter((name) => name !== "" && name !== ".");
	return slashed.endsWith("/") ? [...names, "**"] : names;
}

function mayHold(names: readonly string[], folder: string): boolean {
	const depth = depthOf(folder);
	const anyDepth = names.indexOf("**");
	if (anyDepth < 0 && depth >= names.length) return false;
	const fixed = Math.min(depth, anyDepth < 0 ? depth : anyDepth);
	const start = folder.split("/").slice(0, fixed).join("/");
	return fixed === 0 || matchesPattern(names.slice(0, fixed).join("/"), start);
}

function depthOf(folder: string): number {
	return folder === "" ? 0 : folder.split("/").length;
}

/** `undefined` for binary content. */
function textOf(bytes: Buffer): string | undefined {
	if (bytes.includes(0)) return undefined;
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		return undefined;
	}
}
