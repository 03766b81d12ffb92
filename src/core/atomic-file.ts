import { randomUUID } from "node:crypto";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

interface AtomicWriteOptions {
	/** Where the temporary file goes: an existing folder on the target's disk. Default: the target's folder. */
	readonly tmpFolder?: string;
	/** Flush to disk, so that a power cut cannot leave the file empty. Default: false. */
	readonly durable?: boolean;
	/** Permissions of the file, whatever the umask. Default: 0600. */
	readonly mode?: number;
}

/**
 * Writes a temporary file and renames it, so readers see the old content or the new. Creates the
 * default folder (0700). On Windows, renaming fails (EPERM, EACCES) while another process holds the
 * target open.
 */
export async function writeFileAtomic(
	path: string,
	content: Uint8Array | string,
	{ tmpFolder, durable = false, mode }: AtomicWriteOptions = {},
): Promise<void> {
	const folder = dirname(path);
	if (tmpFolder === undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
	const temporary = join(tmpFolder ?? folder, temporaryName());
	try {
		await writeFile(temporary, content, { flag: "wx", mode: 0o600, flush: durable });
		if (mode !== undefined) await chmod(temporary, mode);
		await rename(temporary, path);
	} catch (error) {
		// A failing cleanup must not mask the first error.
		await rm(temporary, { force: true }).catch(() => {});
		throw error;
	}
}

export function temporaryName(): string {
	return `strata-${randomUUID()}.tmp`;
}

/** Recognizes a {@link temporaryName}. An old file with such a name was left by a crash. */
export function isTemporaryName(name: string): boolean {
	return /^strata-[0-9a-f-]{36}\.tmp$/.test(name);
}
