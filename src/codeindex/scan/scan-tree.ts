import { existsSync, lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describeError } from "../../core/errno.ts";
import { CodeIndexError } from "../code-index.ts";
import { type GitEntry, listGitFiles } from "./git-files.ts";
import { type PathKind, pathKind } from "./path-kinds.ts";
import { walkFolders } from "./walk-files.ts";

/** A file and what the file system says about it, which changes whenever its content does. */
export interface ScannedFile {
	/** Relative to the project's root, with forward slashes. */
	readonly path: string;
	readonly bytes: number;
	readonly mtimeMs: number;
	readonly ctimeMs: number;
	readonly inode: number;
}

/** A link within the project: what is imported through it is the target. */
export interface ScannedLink {
	readonly path: string;
	readonly target: string;
}

/** Something that was left out, and why. */
export interface ScanTrouble {
	/** `git`: git failed and the tree was walked instead. `link`: it is broken or leads out of the project. */
	readonly kind: "unreadable" | "link" | "too-big" | "too-many" | "bad-name" | "git";
	readonly path: string;
	readonly message: string;
}

/** The sources of a project at one moment, each list sorted by path. */
export interface ScannedTree {
	readonly files: readonly ScannedFile[];
	/** Files that decide where imports lead: `tsconfig*.json`, `package.json` and the like. */
	readonly configs: readonly ScannedFile[];
	readonly links: readonly ScannedLink[];
	readonly trouble: readonly ScanTrouble[];
	/** Who listed the files. */
	readonly listedBy: "git" | "walk";
}

export interface ScanOptions {
	readonly signal?: AbortSignal;
	/** Told now and then how many files were found. */
	readonly onProgress?: (files: number) => void;
	/** Further files to look at, as {@link ScannedTree.configs}, even if git ignores them; missing ones are left out. */
	readonly alsoConfigs?: Iterable<string>;
	/**
	 * Files that were there last time. Looking at them goes on while git lists what is there now, which halves the
	 * time of a scan; those that are gone are left out all the same.
	 */
	readonly expected?: Iterable<string>;
}

/** A larger file is data, whatever its name says. */
export const maxSourceBytes = 8 * 1024 * 1024;
/** More would not fit into the memory we allow ourselves. */
export const maxFiles = 250_000;

/**
 * Finds the TypeScript and JavaScript files of the project at `root`, and the configuration that imports depend
 * on. What git ignores is left out, by git's own word or, without git, by the `.gitignore` files. Nothing is read but
 * those, and nothing written. Rejects if the root itself cannot be read, or with the code `aborted`.
 */
export async function scanTree(root: string, options: ScanOptions = {}): Promise<ScannedTree> {
	const scan = new Scan(root, options);
	await scan.lookAround();
	return scan.result();
}

/** What a scan went by: which files there were, before anything was known of them. */
export interface Listing {
	readonly listedBy: ScannedTree["listedBy"];
	/** By path. */
	readonly entries: readonly ListedEntry[];
	/** What could not be listed. */
	readonly trouble: readonly ScanTrouble[];
}

interface ListedEntry {
	readonly path: string;
	readonly kind: PathKind;
	/** As it was found last time. */
	file?: ScannedFile;
}

/** As {@link scanTree}, with the list it went by; none if that was made with difficulties. */
export async function scanAndList(
	root: string,
	options: ScanOptions,
): Promise<{ readonly tree: ScannedTree; readonly listing: Listing | undefined }> {
	const scan = new Scan(root, options);
	await scan.lookAround();
	return { tree: scan.result(), listing: scan.listing() };
}

/** As {@link scanTree}, of files that were listed before; none if the list does not hold any more. */
export async function scanListed(
	root: string,
	listing: Listing,
	options: ScanOptions,
): Promise<ScannedTree | undefined> {
	const scan = new Scan(root, options);
	return (await scan.lookAgain(listing)) ? scan.result() : undefined;
}

/** How many files are looked at before others, such as whoever wants to abort, get a turn. */
const batchSize = 512;
const maxNestedRepositories = 200;

class Scan {
	readonly #root: string;
	readonly #options: ScanOptions;
	readonly #files = new Map<string, ScannedFile>();
	readonly #configs = new Map<string, ScannedFile>();
	readonly #links = new Map<string, ScannedLink>();
	readonly #trouble = new Map<string, ScanTrouble>();
	/** Expected files, looked at before anyone listed them. */
	readonly #ahead = new Map<string, Stats>();
	/** Folders on the way to listed files, and whether none of them is a link. */
	readonly #folders = new Map<string, boolean>([["", true]]);
	readonly #listed: ListedEntry[] = [];
	/** What listing itself had trouble with, as opposed to looking at what is listed. */
	readonly #listingTrouble: ScanTrouble[] = [];
	#listedBy: "git" | "walk" = "git";
	#nested = 0;
	#sinceTurn = 0;

	constructor(root: string, options: ScanOptions) {
		this.#options = options;
		try {
			this.#root = realpathSync(root);
			if (!statSync(this.#root).isDirectory()) throw new Error("it is not a folder");
		} catch (error) {
			const message = `The project folder ${root} cannot be read: ${describeError(error)}. Name an existing folder.`;
			throw new CodeIndexError("unavailable", message, { cause: error });
		}
	}

	async lookAround(): Promise<void> {
		this.#refuseIfAborted();
		const listed = await this.#listRepository("");
		// Git knows nothing of a folder that its repository ignores as a whole.
		if (!listed || this.#files.size === 0) {
			this.#listedBy = "walk";
			await this.#walk("");
		}
		this.#lookAtOtherConfigs();
		this.#options.onProgress?.(this.#files.size);
	}

	listing(): Listing | undefined {
		const trouble = this.#listingTrouble;
		if (trouble.some(({ kind }) => kind !== "unreadable")) return undefined;
		const entries = byPath(this.#listed);
		for (const entry of entries) {
			const file = (entry.kind === "config" ? this.#configs : this.#files).get(entry.path);
			if (file) entry.file = file;
		}
		return { listedBy: this.#listedBy, entries, trouble };
	}

	/** Looks at what was listed before. False if there is something else now, or nothing. */
	async lookAgain({ listedBy, entries, trouble }: Listing): Promise<boolean> {
		this.#refuseIfAborted();
		this.#listedBy = listedBy;
		for (const one of trouble) this.#note(one);
		for (const entry of entries) {
			const stats = this.#lstat(entry.path);
			if (stats?.isFile()) this.#addAgain(entry, stats);
			else if (stats?.isSymbolicLink() && !entry.file) this.#lookAtLink(entry.path);
			else if (stats) return false;
			if (++this.#sinceTurn >= batchSize) await this.#letOthersRun();
		}
		if (this.#files.size === 0) return false;
		this.#lookAtOtherConfigs();
		this.#options.onProgress?.(this.#files.size);
		return true;
	}

	#addAgain(entry: ListedEntry, stats: Stats): void {
		const { path, kind, file } = entry;
		if (kind === "other") return;
		if (file && isSameFile(file, stats)) {
			(kind === "source" ? this.#files : this.#configs).set(path, file);
		} else {
			this.#add(path, kind, stats);
			const found = (kind === "source" ? this.#files : this.#configs).get(path);
			if (found) entry.file = found;
		}
	}

	#lookAtOtherConfigs(): void {
		for (const path of this.#options.alsoConfigs ?? []) {
			if (!/^\/|(?:^|\/)\.\.(?:\/|$)/.test(path)) this.#lookAtConfig(path);
		}
	}

	result(): ScannedTree {
		return {
			files: byPath(this.#files.values()),
			configs: byPath(this.#configs.values()),
			links: byPath(this.#links.values()),
			trouble: byPath(this.#trouble.values()),
			listedBy: this.#listedBy,
		};
	}

	/** Lists the repository at or around a folder; false if there is none, or git does not help. */
	async #listRepository(folder: string): Promise<boolean> {
		const repositories: string[] = [];
		const take = async (entries: readonly GitEntry[]) => {
			for (const { path, kind } of entries) {
				const inRoot = folder === "" ? path : `${folder}/${path}`;
				if (kind === "repository") repositories.push(inRoot);
				else this.#lookAt(inRoot, kind);
				if (++this.#sinceTurn >= batchSize) await this.#letOthersRun();
			}
		};
		const listing = listGitFiles(join(this.#root, folder), take, this.#options.signal);
		const [outcome] = await Promise.all([listing, folder === "" ? this.#lookAhead() : undefined]);
		this.#refuseIfAborted();
		if (outcome.kind === "failed") {
			const message = `git could not list the files: ${outcome.message}`;
			this.#noteListing({ kind: "git", path: folder, message });
		}
		if (outcome.kind !== "listed") return false;
		for (const path of outcome.unreadable) {
			const inRoot = folder === "" ? path : `${folder}/${path}`;
			const message = "the folder cannot be read";
			this.#noteListing({ kind: "unreadable", path: inRoot, message });
		}
		for (const path of repositories) await this.#enterRepository(path);
		return true;
	}

	async #lookAhead(): Promise<void> {
		for (const path of this.#options.expected ?? []) {
			if (!isPathBelow(path) || this.#files.has(path)) continue;
			const stats = this.#lstatIn(path);
			if (stats?.isFile()) this.#ahead.set(path, stats);
			if (++this.#sinceTurn >= batchSize) await this.#letOthersRun();
		}
	}

	/** A submodule or a repository within the repository; one that was never fetched is an empty folder. */
	async #enterRepository(path: string): Promise<void> {
		if (!isPathBelow(path) || !this.#isRealFolder(path)) return;
		if (++this.#nested > maxNestedRepositories) {
			const message = `there are more than ${maxNestedRepositories} repositories in the project`;
			this.#noteListing({ kind: "too-many", path, message });
			return;
		}
		// Without a repository of its own, git would answer for the one around it.
		const isRepository = existsSync(join(this.#root, path, ".git"));
		if (!isRepository || !(await this.#listRepository(path))) await this.#walk(path);
	}

	async #walk(folder: string): Promise<void> {
		for (const found of walkFolders(join(this.#root, folder))) {
			const inRoot = (path: string) =>
				folder === "" ? path : path === "" ? folder : `${folder}/${path}`;
			if (found.problem !== undefined) {
				const { problem: message } = found;
				this.#noteListing({ kind: "unreadable", path: inRoot(found.path), message });
			}
			this.#folders.set(inRoot(found.path), true);
			for (const path of found.files) this.#lookAt(inRoot(path), "file");
			for (const path of found.links) this.#lookAt(inRoot(path), "link");
			this.#sinceTurn += 4 + found.files.length;
			if (this.#sinceTurn >= batchSize) await this.#letOthersRun();
			if (this.#files.size >= maxFiles) return;
		}
	}

	#lookAt(path: string, listedAs: "file" | "link"): void {
		const kind = pathKind(path);
		if (kind === "other" && listedAs === "file") return;
		if (!isPathBelow(path)) return;
		const known = kind === "config" ? this.#configs : this.#files;
		if (known.has(path) || this.#links.has(path)) return;
		if (kind === "source" && this.#files.size >= maxFiles) {
			const message = `there are more than ${maxFiles} source files; the rest is left out`;
			this.#noteListing({ kind: "too-many", path: "", message });
			return;
		}
		const stats = this.#ahead.get(path) ?? this.#lstatIn(path);
		if (stats === undefined) return;
		if (stats.isFile() || stats.isSymbolicLink()) this.#listed.push({ path, kind });
		if (stats.isSymbolicLink()) this.#lookAtLink(path);
		else if (stats.isFile() && kind !== "other") this.#add(path, kind, stats);
	}

	#add(path: string, kind: "source" | "config", stats: Stats): void {
		if (path.includes("\uFFFD")) {
			this.#note({ kind: "bad-name", path, message: "its name is not valid UTF-8" });
		} else if (kind === "source" && stats.size > maxSourceBytes) {
			const message = `it has ${stats.size} bytes; files over ${maxSourceBytes} are left out`;
			this.#note({ kind: "too-big", path, message });
		} else {
			(kind === "source" ? this.#files : this.#configs).set(path, scannedFile(path, stats));
		}
	}

	#lookAtLink(path: string): void {
		try {
			const target = relative(this.#root, realpathSync(join(this.#root, path)));
			if (target === ".." || target.startsWith(`..${sep}`) || isAbsolute(target)) {
				const message = "it leads out of the project and is not followed";
				this.#note({ kind: "link", path, message });
			} else if (target !== "" && !/(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(target)) {
				this.#links.set(path, { path, target: target.split(sep).join("/") });
			}
		} catch (error) {
			this.#note({ kind: "link", path, message: describeError(error) });
		}
	}

	/** Configuration that was asked for by name may be a link, as packages of a workspace are in `node_modules`. */
	#lookAtConfig(path: string): void {
		if (this.#configs.has(path)) return;
		const stats = statSync(join(this.#root, path), { throwIfNoEntry: false });
		if (stats?.isFile()) this.#configs.set(path, scannedFile(path, stats));
	}

	/** An index can name files behind a folder that has become a link since. */
	#isRealFolder(folder: string): boolean {
		const known = this.#folders.get(folder);
		if (known !== undefined) return known;
		const slash = folder.lastIndexOf("/");
		const real =
			(slash < 0 || this.#isRealFolder(folder.slice(0, slash))) &&
			this.#lstat(folder)?.isDirectory() === true;
		this.#folders.set(folder, real);
		return real;
	}

	/** Looks at a path if no folder on the way to it is a link. */
	#lstatIn(path: string): Stats | undefined {
		const slash = path.lastIndexOf("/");
		if (slash > 0 && !this.#isRealFolder(path.slice(0, slash))) return undefined;
		return this.#lstat(path);
	}

	#lstat(path: string): Stats | undefined {
		try {
			// Tracked files that were deleted are the usual case of a missing one.
			return lstatSync(`${this.#root}/${path}`, { throwIfNoEntry: false });
		} catch (error) {
			this.#note({ kind: "unreadable", path, message: describeError(error) });
			return undefined;
		}
	}

	#note(trouble: ScanTrouble): void {
		this.#trouble.set(`${trouble.kind} ${trouble.path}`, trouble);
	}

	#noteListing(trouble: ScanTrouble): void {
		this.#listingTrouble.push(trouble);
		this.#note(trouble);
	}

	async #letOthersRun(): Promise<void> {
		this.#sinceTurn = 0;
		this.#options.onProgress?.(this.#files.size);
		await setImmediate();
		this.#refuseIfAborted();
	}

	#refuseIfAborted(): void {
		if (this.#options.signal?.aborted) {
			throw new CodeIndexError("aborted", "Looking at the files of the project was aborted.");
		}
	}
}

function scannedFile(path: string, stats: Stats): ScannedFile {
	const { size, mtimeMs, ctimeMs, ino } = stats;
	return { path, bytes: size, mtimeMs, ctimeMs, inode: ino };
}

function isSameFile(file: ScannedFile, { size, mtimeMs, ctimeMs, ino }: Stats): boolean {
	return (
		file.bytes === size &&
		file.mtimeMs === mtimeMs &&
		file.ctimeMs === ctimeMs &&
		file.inode === ino
	);
}

/** Whether a path from a list stays in the project, and out of what is never indexed. */
function isPathBelow(path: string): boolean {
	return !/(?:^|\/)(?:\.\.|\.git|node_modules)(?:\/|$)|^\/|^$/.test(path);
}

/** In the order of UTF-16 units, which is the same everywhere. */
function byPath<T extends { readonly path: string }>(items: Iterable<T>): T[] {
	return [...items].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
