import { randomUUID } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../../../core/atomic-file.ts";
import { errnoOf } from "../../../core/errno.ts";
import { hashBytes } from "../../../core/hash.ts";

/**
 * The name of the data folder among all servers. A copy of the folder, on another machine or beside it, has
 * another name: only the lock of the same folder proves that its last process is dead.
 */
export async function homeOf(dataDir: string): Promise<string> {
	const file = join(dataDir, "server-id");
	let id = await readFile(file, "utf8").catch((error: unknown) => {
		if (errnoOf(error) === "ENOENT") return "";
		throw error;
	});
	if (id.trim() === "") {
		id = randomUUID();
		await writeFileAtomic(file, `${id}\n`, { durable: true });
	}
	return hashBytes(JSON.stringify([id.trim(), hostname(), await realpath(dataDir)])).slice(0, 32);
}
