import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";

/** Pi keeps its sessions two folders deep; more than this is no folder of sessions. */
const MAX_DEPTH = 4;
const MAX_FILES = 10_000;

/** What lies below a folder, sorted by name: session files, and folders that could not be looked into. */
export interface SessionFiles {
	readonly files: string[];
	readonly unreadable: { readonly file: string; readonly reason: string }[];
}

/** The `.jsonl` files below a folder. Links are not followed. Rejects if the folder itself cannot be read. */
export async function sessionFilesIn(folder: string): Promise<SessionFiles> {
	const files: string[] = [];
	const unreadable: { file: string; reason: string }[] = [];
	await collect(folder, 1);
	return { files: files.sort(), unreadable };

	async function collect(at: string, depth: number): Promise<void> {
		for (const entry of await readdir(at, { withFileTypes: true })) {
			const path = join(at, entry.name);
			if (entry.isDirectory() && depth < MAX_DEPTH) {
				await collect(path, depth + 1).catch((error) => {
					if (errnoOf(error) === undefined) throw error;
					unreadable.push({ file: path, reason: describeError(error) });
				});
			}
			if (!entry.isFile() || !entry.name.endsWith(".jsonl")) continue;
			if (files.length === MAX_FILES) {
				throw new Error(
					`${folder} has more than ${MAX_FILES} sessions; name a folder further down`,
				);
			}
			files.push(path);
		}
	}
}
