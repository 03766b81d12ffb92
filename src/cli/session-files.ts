import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Pi keeps its sessions two folders deep; more than this is no folder of sessions. */
const MAX_DEPTH = 4;
const MAX_FILES = 10_000;

/** The `.jsonl` files below a folder, sorted by name. Links are not followed. */
export async function sessionFilesIn(folder: string): Promise<string[]> {
	const files: string[] = [];
	await collect(folder, 1);
	return files.sort();

	async function collect(at: string, depth: number): Promise<void> {
		for (const entry of await readdir(at, { withFileTypes: true })) {
			const path = join(at, entry.name);
			if (entry.isDirectory() && depth < MAX_DEPTH) await collect(path, depth + 1);
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
