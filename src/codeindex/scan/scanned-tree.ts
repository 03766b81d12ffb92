/** A file and what the file system says about it, which changes whenever its content does. */
export interface ScannedFile {
	/** Relative to the project's root, with forward slashes. */
	readonly path: string;
	readonly bytes: number;
	readonly mtimeMs: number;
	readonly ctimeMs: number;
	readonly inode: number;
}

/** A symbolic link within the project: what is imported through it is the target. */
export interface Symlink {
	readonly path: string;
	readonly target: string;
}

export interface ScanTrouble {
	/**
	 * `git`: git failed and the tree was walked instead; `slow`: git took too long for files that are not tracked, which
	 * were found by a walk. `rules`: of a `.gitignore`, something is not applied. `link`: it is broken or leads out of
	 * the project.
	 */
	readonly kind:
		| "unreadable"
		| "link"
		| "too-big"
		| "too-many"
		| "bad-name"
		| "git"
		| "slow"
		| "rules";
	readonly path: string;
	readonly message: string;
}

/** The sources of a project at one moment, each list sorted by path. */
export interface ScannedTree {
	readonly files: readonly ScannedFile[];
	/** Files that decide where imports lead: `tsconfig*.json`, `package.json` and the like. */
	readonly configs: readonly ScannedFile[];
	readonly links: readonly Symlink[];
	readonly trouble: readonly ScanTrouble[];
	readonly listedBy: "git" | "walk";
}

/** A larger file is data, whatever its name says. */
export const maxSourceBytes = 8 * 1024 * 1024;
/** More would not fit into the memory we allow ourselves. */
export const maxFiles = 250_000;
