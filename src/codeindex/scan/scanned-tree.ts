import type { FileTimes } from "../../core/file-times.ts";

export interface ScannedFile extends FileTimes {
	/** Relative to the project's root, with forward slashes. */
	readonly path: string;
}

/** Imports through the link resolve to its target. */
export interface Symlink {
	readonly path: string;
	readonly target: string;
}

export interface ScanTrouble {
	/**
	 * `git`: git failed, so a walk listed the files. `slow`: git timed out, so a walk listed untracked
	 * files. `rules`: a `.gitignore` is only partly applied. `link`: it is broken or leaves the project.
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

export interface ScannedTree {
	readonly files: readonly ScannedFile[];
	/** `tsconfig*.json`, `package.json` and similar files. */
	readonly configs: readonly ScannedFile[];
	/** Paths of documents and configuration files, which are searched as text. */
	readonly texts: readonly string[];
	readonly links: readonly Symlink[];
	readonly trouble: readonly ScanTrouble[];
	readonly listedBy: "git" | "walk";
}

/** Maximum size of a source file. Larger files are data. */
export const MAX_SOURCE_BYTES = 8 * 1024 * 1024;
/** Maximum number of source files, to limit memory. */
export const BAD_NAME = "its name is not valid UTF-8";
export const MAX_FILES = 250_000;
export const MAX_TEXTS = 20_000;
/** Larger documents are data, which a search does not read. */
export const MAX_TEXT_BYTES = 600_000;

export interface KnownFile extends ScannedFile {
	/** When the metadata was read, before the content (ms since 1970). */
	readonly storedMs: number;
}

export interface KnownConfig extends KnownFile {
	readonly hash: string;
}

/** Together with the list of files, this determines how imports resolve. */
export interface ProjectState {
	readonly configs: readonly KnownConfig[];
	readonly links: readonly Symlink[];
	readonly lookedFor: readonly string[];
}

export const NO_PROJECT_STATE: ProjectState = { configs: [], links: [], lookedFor: [] };
