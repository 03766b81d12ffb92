import { readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BlobStore } from "../core/blob-store.ts";
import { isPageToken } from "../core/read-input.ts";

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

/** The spellings that pi's `read` tries: the path as written, then variants for macOS screenshots. */
export function pathCandidates(written: string, cwd: string): string[] {
	const path = absolutePath(written, cwd);
	const decomposed = path.normalize("NFD");
	return [
		...new Set([
			path,
			path.replace(/ (AM|PM)\./gi, "\u202F$1."),
			decomposed,
			path.replace(/'/g, "\u2019"),
			decomposed.replace(/'/g, "\u2019"),
		]),
	];
}

/** Converts a path like pi: makes Unicode spaces plain, drops one leading `@`, expands `~` and `file:`. */
export function absolutePath(written: string, cwd: string): string {
	const spaced = written.replace(UNICODE_SPACES, " ");
	const plain = expand(spaced.startsWith("@") ? spaced.slice(1) : spaced);
	return isAbsolute(plain) ? resolve(plain) : resolve(cwd, plain);
}

function expand(path: string): string {
	if (path === "~") return homedir();
	if (path.startsWith("~/") || (process.platform === "win32" && path.startsWith("~\\"))) {
		return join(homedir(), path.slice(2));
	}
	return path.startsWith("file://") ? fileURLToPath(path) : path;
}

/** The path of a `file:` address, if valid. Allows relative ones and capitals; pi only allows `file://`. */
export function addressedPath(written: string, cwd: string): string | undefined {
	if (!/^file:/i.test(written)) return undefined;
	try {
		return fileURLToPath(new URL(written, `${pathToFileURL(cwd).href}/`));
	} catch {
		return undefined; // no tool could read such an address
	}
}

/** The id of the blob that a path names; `undefined` for any other path. Does not access the disk. */
export function blobNamed(
	written: string,
	cwd: string,
	blobs: Pick<BlobStore, "idOf">,
): string | undefined {
	if (isPageToken(written) || /^https?:/i.test(written)) return undefined;
	try {
		return blobs.idOf(addressedPath(written, cwd) ?? pathCandidates(written, cwd)[0] ?? written);
	} catch {
		return undefined; // an address that names no file
	}
}

/** Resolves all links. For a missing file, resolves the part of its path that exists. */
export function canonicalPath(path: string): string {
	// Loops instead of recursing, since a path can have more parts than the stack can hold.
	const missing: string[] = [];
	let at = path;
	let place = realPath(at);
	while (place === undefined && dirname(at) !== at) {
		missing.push(basename(at));
		at = dirname(at);
		place = realPath(at);
	}
	place ??= at;
	while (missing.length > 0) {
		const target = targetOf(join(place, missing.at(-1) as string));
		// Nothing below a part that is missing and not a link can be a link.
		if (target === undefined) return join(place, missing.reverse().join(sep));
		place = target;
		missing.pop();
	}
	return place;
}

export function realPath(path: string): string | undefined {
	try {
		return realpathSync.native(path);
	} catch {
		return undefined;
	}
}

/** The final target of a dangling link; `undefined` for other paths and link cycles. */
function targetOf(link: string): string | undefined {
	let path = link;
	try {
		for (let links = 0; links < 40; links++) path = resolve(dirname(path), readlinkSync(path));
		return undefined;
	} catch {
		return path === link ? undefined : path;
	}
}

/** Parses a path with a line range, as models write it: `src/a.ts:10-20`, `src/a.ts:10`. */
export function parseShorthand(written: string) {
	const match = /^(.+):(\d+)(?:-(\d+))?$/s.exec(written);
	if (!match) return undefined;
	const [, path = "", first = "", last = first] = match;
	return { path, start: Number(first), end: Number(last) };
}

/** Throws for a range that names no lines. */
export function checkShorthand(
	{ start, end }: { readonly start: number; readonly end: number },
	written: string,
): void {
	const rule = "line numbers start at 1 and the end must not be before the start";
	if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 1 || end < start) {
		throw new Error(`Invalid line range in "${written}": ${rule} (for example "file.ts:5-20")`);
	}
}

export function isEditingTool(toolName: string): boolean {
	return toolName === "edit" || toolName === "write";
}
