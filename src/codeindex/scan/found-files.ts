import { lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { compareText } from "../../core/compare-text.ts";
import { describeError } from "../../core/errno.ts";
import { CodeIndexError } from "../code-index.ts";
import type { PathKind } from "./path-kinds.ts";
import { folderOf } from "./project-path.ts";
import {
	maxSourceBytes,
	type ScannedFile,
	type ScannedTree,
	type ScanTrouble,
	type Symlink,
} from "./scanned-tree.ts";

/** What a scan has found so far, and what the file system says about it. */
export class FoundFiles {
	/** Without links on the way. */
	readonly root: string;
	readonly files = new Map<string, ScannedFile>();
	readonly configs = new Map<string, ScannedFile>();
	readonly links = new Map<string, Symlink>();
	readonly #trouble = new Map<string, ScanTrouble>();
	/** Folders on the way to files, and whether none of them is a link. */
	readonly #folders = new Map<string, boolean>([["", true]]);

	/** Throws a `CodeIndexError` if the root is no folder that can be read. */
	constructor(root: string) {
		try {
			this.root = realpathSync(root);
			if (!statSync(this.root).isDirectory()) throw new Error("it is not a folder");
		} catch (error) {
			const message = `The project folder ${root} cannot be read: ${describeError(error)}. Name an existing folder.`;
			throw new CodeIndexError("unavailable", message, { cause: error });
		}
	}

	all(): Omit<ScannedTree, "listedBy"> {
		return {
			files: byPath(this.files.values()),
			configs: byPath(this.configs.values()),
			links: byPath(this.links.values()),
			trouble: byPath(this.#trouble.values()),
		};
	}

	of(kind: PathKind): Map<string, ScannedFile> {
		return kind === "config" ? this.configs : this.files;
	}

	add(path: string, kind: "source" | "config", stats: Stats): void {
		if (kind === "source" && stats.size > maxSourceBytes) {
			const message = `it has ${stats.size} bytes; files over ${maxSourceBytes} are left out`;
			this.note({ kind: "too-big", path, message });
		} else {
			this.of(kind).set(path, scannedFile(path, stats));
		}
	}

	/** Takes a link in, if it leads to another place in the project. */
	addLink(path: string): void {
		try {
			const target = relative(this.root, realpathSync(join(this.root, path)));
			if (target === ".." || target.startsWith(`..${sep}`) || isAbsolute(target)) {
				const message = "it leads out of the project and is not followed";
				this.note({ kind: "link", path, message });
			} else if (target !== "" && !/(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(target)) {
				this.links.set(path, { path, target: target.split(sep).join("/") });
			}
		} catch (error) {
			this.note({ kind: "link", path, message: describeError(error) });
		}
	}

	/** Configuration that was asked for by name may be a link, as packages of a workspace are in `node_modules`. */
	addConfig(path: string): void {
		if (this.configs.has(path)) return;
		const stats = statSync(join(this.root, path), { throwIfNoEntry: false });
		if (stats?.isFile()) this.configs.set(path, scannedFile(path, stats));
	}

	/** Git can list files behind a folder that has become a link since. */
	isRealFolder(folder: string): boolean {
		const known = this.#folders.get(folder);
		if (known !== undefined) return known;
		const real = this.isRealFolder(folderOf(folder)) && this.lstat(folder)?.isDirectory() === true;
		this.#folders.set(folder, real);
		return real;
	}

	folderIsReal(folder: string): void {
		this.#folders.set(folder, true);
	}

	/** Looks at a path if no folder on the way to it is a link. */
	lstatIn(path: string): Stats | undefined {
		return this.isRealFolder(folderOf(path)) ? this.lstat(path) : undefined;
	}

	/** Undefined if there is nothing, or it cannot be looked at, which is noted. */
	lstat(path: string): Stats | undefined {
		try {
			// Tracked files that were deleted are the usual case of a missing one.
			return lstatSync(`${this.root}/${path}`, { throwIfNoEntry: false });
		} catch (error) {
			this.note({ kind: "unreadable", path, message: describeError(error) });
			return undefined;
		}
	}

	note(trouble: ScanTrouble): void {
		this.#trouble.set(`${trouble.kind} ${trouble.path}`, trouble);
	}
}

export function scannedFile(path: string, stats: Stats): ScannedFile {
	const { size, mtimeMs, ctimeMs, ino } = stats;
	return { path, bytes: size, mtimeMs, ctimeMs, inode: ino };
}

/** In the order of UTF-16 units, which is the same everywhere. */
export function byPath<T extends { readonly path: string }>(items: Iterable<T>): T[] {
	return [...items].sort((a, b) => compareText(a.path, b.path));
}
