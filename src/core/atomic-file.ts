import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** How {@link writeFileAtomic} goes about it. */
export type AtomicWriteOptions = {
	/**
	 * Where the temporary file is written: an existing folder on the same disk. Default: the folder
	 * of the target, which is then created (0700) if it is missing.
	 */
	readonly tmpFolder?: string;
	/** Wait until the bytes are on the disk, so that a power cut cannot leave the file empty. Default: false. */
	readonly durable?: boolean;
};

/**
 * Writes a file so that others see the old content or the new, never a part: a temporary file is
 * written (0600) and renamed into place. On failure the temporary file is removed and the cause thrown.
 * On Windows the rename fails (EPERM, EACCES) while another process holds the target open.
 */
export async function writeFileAtomic(
	path: string,
	content: Uint8Array | string,
	{ tmpFolder, durable = false }: AtomicWriteOptions = {},
): Promise<void> {
	const folder = dirname(path);
	if (tmpFolder === undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
	const temporary = join(tmpFolder ?? folder, temporaryName());
	try {
		await writeFile(temporary, content, { flag: "wx", mode: 0o600, flush: durable });
		await rename(temporary, path);
	} catch (error) {
		// What went wrong first is what the caller must hear, so a failing removal stays silent.
		await rm(temporary, { force: true }).catch(() => {});
		throw error;
	}
}

/** A name for a temporary file that no other process uses. */
export function temporaryName(): string {
	return `strata-${randomUUID()}.tmp`;
}

/** Whether a name was made by {@link temporaryName}; a file that has borne it for long was left by a crash. */
export function isTemporaryName(name: string): boolean {
	return /^strata-[0-9a-f-]{36}\.tmp$/.test(name);
}
