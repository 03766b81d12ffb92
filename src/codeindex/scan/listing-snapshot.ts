import {
	existsSync,
	lstatSync,
	readdirSync,
	readFileSync,
	realpathSync,
	type Stats,
	statSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type FileTimes, isSurelySame, timesOf } from "../../core/file-times.ts";
import { below } from "../../core/project-path.ts";
import { pathKind } from "../languages.ts";
import { excludesFiles, gitConfiguration } from "./git-files.ts";
import type { OuterRules } from "./walk-files.ts";

/** Above this many folders, asking git is faster than checking each folder. */
const MAX_FOLDERS = 20_000;

interface PathSnapshot extends FileTimes {
	readonly takenMs: number;
}

interface FolderSnapshot extends PathSnapshot {
	/** Types of entries, by name. Undefined if the folder could not be read. */
	readonly entries: ReadonlyMap<string, EntryType> | undefined;
}

type EntryType = "folder" | "link" | "file";

/** Detects new entries (by their folder's times) and changed ignore rules, but not deleted files. */
export class ListingSnapshot {
	readonly #given: string;
	readonly #root: string;
	readonly #now: () => number;
	readonly #folders = new Map<string, FolderSnapshot>();
	#rules: ReadonlyMap<string, PathSnapshot> = new Map();

	private constructor(given: string, root: string, now: () => number) {
		this.#given = given;
		this.#root = root;
		this.#now = now;
	}

	/** Call this before listing, to detect concurrent changes. Undefined: no root, or too many folders. */
	static async take(given: string, now: () => number): Promise<ListingSnapshot | undefined> {
		const root = orUndefined(() => realpathSync(given));
		if (root === undefined) return undefined;
		const snapshot = new ListingSnapshot(given, root, now);
		if (!snapshot.#takeFolders()) return undefined;
		const paths = [...(await snapshot.#ruleFiles())];
		snapshot.#rules = new Map(paths.map((path) => [path, { takenMs: now(), ...timesAt(path) }]));
		return snapshot;
	}

	/** Also false if a rule file changed so recently that a second change could leave the same times. */
	isCurrent(): boolean {
		if (orUndefined(() => realpathSync(this.#given)) !== this.#root) return false;
		for (const [path, before] of this.#rules) {
			if (!isSurelySame(before, before.takenMs, timesAt(path))) return false;
		}
		for (const [path, before] of this.#folders) {
			const takenMs = this.#now();
			const stats = lstatOrUndefined(`${this.#root}/${path}`);
			if (!stats?.isDirectory()) return false;
			if (isSurelySame(before, before.takenMs, timesOf(stats))) continue;
			const entries = readEntries(`${this.#root}/${path}`);
			if (!hasNothingNew(before.entries, entries)) return false;
			this.#folders.set(path, { ...timesOf(stats), takenMs, entries });
		}
		return true;
	}

	/** Skips `node_modules` and `.git`. False if there are too many folders. */
	#takeFolders(): boolean {
		const open = [""];
		for (let path = open.pop(); path !== undefined; path = open.pop()) {
			if (this.#folders.size >= MAX_FOLDERS) return false;
			const takenMs = this.#now();
			const stats = lstatOrUndefined(`${this.#root}/${path}`);
			// The folder was deleted after its parent was read. The parent's times show this.
			if (!stats?.isDirectory()) continue;
			const entries = readEntries(`${this.#root}/${path}`);
			this.#folders.set(path, { ...timesOf(stats), takenMs, entries });
			for (const [name, type] of entries ?? []) {
				if (type === "folder" && name !== ".git") open.push(below(path, name));
			}
		}
		return true;
	}

	async #ruleFiles(): Promise<Set<string>> {
		const paths = new Set<string>();
		const repositories: string[] = [];
		for (const [path, { entries }] of this.#folders) {
			if (entries?.has(".gitignore")) paths.add(join(this.#root, path, ".gitignore"));
			if (entries?.has(".git")) repositories.push(join(this.#root, path));
		}
		const ancestors = ancestorsOf(this.#root);
		for (const folder of ancestors) paths.add(join(folder, ".gitignore"));
		for (const folder of [...repositories, ...ancestors]) {
			for (const path of filesOfRepository(join(folder, ".git"))) paths.add(path);
		}
		for (const path of await configurationFiles(this.#root)) paths.add(path);
		return paths;
	}
}

/** Ignore files that apply to a folder, except those inside it. Later files take precedence. */
export async function rulesAround(folder: string): Promise<OuterRules[]> {
	const top = [folder, ...ancestorsOf(folder)].find((path) => existsSync(join(path, ".git")));
	if (top === undefined) return [];
	const namesFrom = (path: string) => relative(path, folder).split(sep).filter(Boolean);
	const names = namesFrom(top);
	const excludes = (await excludesFiles(folder)).at(-1) ?? join(userFolder(), "ignore");
	const inner = ancestorsOf(folder).slice(0, names.length).reverse();
	return [
		{ path: resolve(top, excludes), names },
		{ path: join(commonFolder(join(top, ".git")) ?? top, "info/exclude"), names },
		...inner.map((path) => ({ path: join(path, ".gitignore"), names: namesFrom(path) })),
	];
}

function orUndefined<T>(attempt: () => T): T | undefined {
	try {
		return attempt();
	} catch {
		return undefined;
	}
}

/** Files may have been deleted, but no folder, link or `.gitignore`. */
function hasNothingNew(before: FolderSnapshot["entries"], now: FolderSnapshot["entries"]): boolean {
	if (before === undefined || now === undefined) return before === now;
	for (const [name, type] of now) if (before.get(name) !== type) return false;
	if (now.size === before.size) return true;
	for (const [name, type] of before) {
		if (!now.has(name) && (type !== "file" || name.startsWith(".git"))) return false;
	}
	return true;
}

/** Returns folders, links, sources and configurations. Of other files, only `.gitignore` and `.git`. */
function readEntries(folder: string): Map<string, EntryType> | undefined {
	// Ignores errors, since the listing reports them.
	const found = orUndefined(() => readdirSync(folder, { withFileTypes: true }));
	if (!found) return undefined;
	const entries = new Map<string, EntryType>();
	for (const entry of found) {
		const { name } = entry;
		if (name === "node_modules") continue;
		if (entry.isDirectory()) entries.set(name, "folder");
		else if (entry.isSymbolicLink()) entries.set(name, "link");
		else if (name === ".git" || name === ".gitignore" || pathKind(name) !== "other") {
			entries.set(name, "file");
		}
	}
	return entries;
}

function lstatOrUndefined(path: string): Stats | undefined {
	return orUndefined(() => lstatSync(path, { throwIfNoEntry: false }));
}

/** Negative sizes are sentinels for paths that are not files. */
const MISSING: FileTimes = { bytes: -1, mtimeMs: 0, ctimeMs: 0, inode: 0 };

function timesAt(path: string): FileTimes {
	try {
		let stats = lstatSync(path, { throwIfNoEntry: false });
		// Follows links, as git does for its own files.
		if (stats?.isSymbolicLink()) stats = statSync(path, { throwIfNoEntry: false });
		if (!stats) return MISSING;
		// `.git` changes all the time, so its relevant files are checked separately.
		return stats.isDirectory() ? { ...MISSING, bytes: -2, inode: stats.ino } : timesOf(stats);
	} catch {
		return { ...MISSING, bytes: -3 };
	}
}

function ancestorsOf(root: string): string[] {
	const folders: string[] = [];
	for (let at = root; ; at = dirname(at)) {
		if (at !== root) folders.push(at);
		if (at === dirname(at)) return folders;
	}
}

/** In submodules and linked work trees, `.git` is a file. */
function filesOfRepository(marker: string): string[] {
	const folder = gitFolder(marker);
	if (folder === undefined) return [marker];
	const common = commonFolder(marker) ?? folder;
	return [
		marker,
		...["index", "HEAD", "config.worktree"].map((name) => join(folder, name)),
		...["config", "info/exclude"].map((name) => join(common, name)),
	];
}

function commonFolder(marker: string): string | undefined {
	const folder = gitFolder(marker);
	return folder && resolve(folder, textOf(join(folder, "commondir")) ?? ".");
}

function gitFolder(marker: string): string | undefined {
	const isFolder = orUndefined(() => statSync(marker, { throwIfNoEntry: false })?.isDirectory());
	if (isFolder) return marker;
	const pointer = textOf(marker)?.match(/^gitdir: (.+)$/)?.[1];
	return pointer === undefined ? undefined : resolve(dirname(marker), pointer);
}

/** Includes files that do not exist yet. */
async function configurationFiles(root: string): Promise<string[]> {
	const folder = userFolder();
	const usual = [join(homedir(), ".gitconfig"), join(folder, "config"), join(folder, "ignore")];
	// Git returns some paths relative to the top of the repository: the root or a folder above it.
	const around = [root, ...ancestorsOf(root)];
	const named = (await gitConfiguration(root)).flatMap((path) =>
		isAbsolute(path) ? [path] : around.map((top) => join(top, path)),
	);
	return [...usual, ...named];
}

function userFolder(): string {
	return join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "git");
}

/** Reads only small regular files, since opening a pipe would block. */
function textOf(path: string): string | undefined {
	return orUndefined(() => {
		const stats = statSync(path, { throwIfNoEntry: false });
		if (!stats?.isFile() || stats.size > MAX_POINTER_BYTES) return undefined;
		return readFileSync(path, "utf8").trim();
	});
}

const MAX_POINTER_BYTES = 16 * 1024;
