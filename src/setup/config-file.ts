import { constants } from "node:fs";
import { access, lstat, mkdir, realpath, rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { describeError, errnoOf } from "../core/errno.ts";
import { readRegularFile } from "../core/regular-file.ts";

/** Claude Code keeps much more than settings in its file. */
const MAX_CONFIG_BYTES = 32 * 1024 * 1024;

export type ConfigFile =
	| { readonly kind: "missing" }
	| {
			readonly kind: "read";
			readonly text: string;
			/** The file behind links. */
			readonly target: string;
			readonly isLink: boolean;
			readonly mode: number;
			/** Why it cannot be written. Completes "… is left alone: it ". */
			readonly fault?: string;
	  }
	/** Why it cannot be read. Completes "… is left alone: it ". */
	| { readonly kind: "unreadable"; readonly why: string };

/** Follows links: many users link to a folder of settings. Never throws. */
export async function readConfig(path: string): Promise<ConfigFile> {
	try {
		const target = await realpath(path).catch((error: unknown) => {
			if (errnoOf(error) === "ENOENT") return undefined;
			throw error;
		});
		if (target === undefined) {
			const isLink = await lstat(path).then(
				() => true,
				() => false,
			);
			if (!isLink) return { kind: "missing" };
			return { kind: "unreadable", why: "is a link to a file that does not exist" };
		}
		const file = await readRegularFile(target, MAX_CONFIG_BYTES);
		if (file.kind === "missing") return { kind: "missing" };
		if (file.kind === "refused") {
			const why = file.reason === "too-big" ? "is larger than 32 MiB" : "is not a regular file";
			return { kind: "unreadable", why };
		}
		const text = decoded(file.bytes);
		if (text === undefined) return { kind: "unreadable", why: "is not UTF-8 text" };
		const { mode } = await stat(target);
		const fault = await writeFault(target, mode);
		const isLink = (await lstat(path)).isSymbolicLink();
		return {
			...{ kind: "read", text, target, isLink, mode: mode & 0o777 },
			...(fault && { fault }),
		};
	} catch (error) {
		return {
			kind: "unreadable",
			why: `cannot be read (${errnoOf(error) ?? describeError(error)})`,
		};
	}
}

/** Keeps a byte order mark, so that writing the text gives the same bytes. */
function decoded(bytes: Buffer): string | undefined {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		return undefined;
	}
}

async function writeFault(target: string, mode: number): Promise<string | undefined> {
	// Renaming would replace a read-only file, and root may write it anyway.
	if ((mode & 0o222) === 0) return "is read-only";
	try {
		await access(target, constants.W_OK);
		await access(dirname(target), constants.W_OK);
		return undefined;
	} catch {
		return "cannot be written by you";
	}
}

/** Writes atomically, with the permissions of the file that was there. Throws if that fails. */
export async function writeConfig(path: string, text: string): Promise<void> {
	const file = await readConfig(path);
	const { target, mode } = file.kind === "read" ? file : { target: path, mode: 0o600 };
	await writeFileAtomic(target, text, { durable: true, mode });
}

/** Makes the folder of a file (0700). Returns the folders that were missing, the innermost first. */
export async function makeFolders(path: string): Promise<string[]> {
	const missing: string[] = [];
	for (let folder = dirname(path); ; folder = dirname(folder)) {
		const exists = await stat(folder).then(
			() => true,
			() => false,
		);
		if (exists || folder === dirname(folder)) break;
		missing.push(folder);
	}
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	return missing;
}

/** Deletes a file, and the given folders as far as they are empty. */
export async function removeConfig(path: string, folders: readonly string[]): Promise<void> {
	await rm(path, { force: true });
	for (const folder of folders) {
		const isGone = await rmdir(folder).then(
			() => true,
			() => false,
		);
		if (!isGone) return; // something else is in it
	}
}
