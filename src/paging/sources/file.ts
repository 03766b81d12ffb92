import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, resolve, sep } from "node:path";
import { readRegularFile } from "../../core/regular-file.ts";
import { PagingError, tooLarge } from "../errors.ts";

export interface FileSourceOptions {
	/** Relative paths start here, and files must lie in it. */
	root: string;
	readOnlyRoots?: readonly string[];
	maxBytes: number;
}

/** The real path, and a version to detect changes. */
export interface LocatedFile {
	path: string;
	validators: string;
}

/** Checks that the file lies in an allowed folder after following all links. */
export async function locateFile(path: string, options: FileSourceOptions): Promise<LocatedFile> {
	const absolute = resolve(options.root, path);
	const real = await realpath(absolute).catch(async (error) => {
		// Only within the allowed folders may the error reveal what exists.
		await checkInside(await nearestReal(absolute), path, options);
		throw notFound(path, error);
	});
	await checkInside(real, path, options);
	const info = await stat(real, { bigint: true }).catch((error) => {
		throw notFound(path, error);
	});
	if (!info.isFile()) throw notAFile(path);
	const { dev, ino, size, mtimeNs, ctimeNs } = info;
	return { path: real, validators: [dev, ino, size, mtimeNs, ctimeNs].join(":") };
}

/** Detects links swapped in since. */
export async function readLocated(file: LocatedFile, options: FileSourceOptions): Promise<Buffer> {
	const name = basename(file.path);
	const content = await readRegularFile(file.path, options.maxBytes).catch((error) => {
		throw notFound(name, error);
	});
	if (content.kind === "missing") throw notFound(name);
	if (content.kind === "refused") {
		if (content.reason === "not-a-file") throw notAFile(name);
		throw tooLarge(name, options.maxBytes);
	}
	const still = await realpath(file.path).catch(() => undefined);
	if (still !== file.path) throw notFound(name);
	return content.bytes;
}

/** More than any system follows. */
const MAX_LINKS = 40;

/** The real path of the existing part of a missing path, following dangling links. */
async function nearestReal(path: string, links = 0): Promise<string> {
	const real = await realpath(path).catch(() => undefined);
	if (real !== undefined) return real;
	const target = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
	const folder = dirname(path);
	if (target === undefined) return folder === path ? path : nearestReal(folder, links);
	return nearestReal(resolve(await nearestReal(folder, links), target), links + 1);
}

async function checkInside(
	real: string,
	shown: string,
	{ root, readOnlyRoots = [] }: FileSourceOptions,
): Promise<void> {
	for (const folder of [root, ...readOnlyRoots]) {
		const allowed = await realpath(folder).catch(() => undefined);
		if (
			allowed &&
			(real === allowed || real.startsWith(allowed.endsWith(sep) ? allowed : allowed + sep))
		)
			return;
	}
	throw new PagingError("outside_root", `${shown} is outside the folders that may be read here`);
}

function notFound(path: string, cause?: unknown): PagingError {
	return new PagingError("not_found", `cannot read ${path}: no such file, or no permission`, {
		cause,
	});
}

function notAFile(path: string): PagingError {
	return new PagingError("not_a_file", `${path} is not an ordinary file`);
}
