import { type Dirent, lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { tickMs } from "./changed-files.ts";
import { pathKind } from "./project-path.ts";
import { lookAtRules, type RuleFiles, rulesStillHold } from "./rule-files.ts";
import { type Listing, type ScanOptions, scanAndList, scanListed, scanTree } from "./scan-tree.ts";
import type { ScannedTree } from "./scanned-tree.ts";

/** What was listed, and what must not have changed since. */
interface Memory {
	readonly root: string;
	readonly listing: Listing;
	readonly folders: FolderWatch;
	readonly rules: RuleFiles;
	readonly listedMs: number;
}

/** A list expires: some file systems do not keep the times of folders. */
const maxAgeMs = 10 * 60_000;

/**
 * Scans one project repeatedly. Git lists the files again only if a folder, a `.gitignore` or one of git's own files has
 * changed; otherwise only the listed files are looked at.
 */
export class TreeScanner {
	readonly #root: string;
	readonly #now: () => number;
	#memory: Memory | undefined;
	#hasScanned = false;
	/** Since when git is known to be slow with what it does not track (ms since 1970). */
	#slowSinceMs = Number.NEGATIVE_INFINITY;

	constructor(root: string, { now = Date.now }: { now?: () => number } = {}) {
		this.#root = root;
		this.#now = now;
	}

	async scan(options: ScanOptions = {}): Promise<ScannedTree> {
		// Often the first scan is the only one.
		if (!this.#hasScanned) {
			const tree = await scanTree(this.#root, options);
			this.#hasScanned = true;
			this.#noteSlowness(tree);
			return tree;
		}
		const isSlow = Math.abs(this.#now() - this.#slowSinceMs) <= maxAgeMs;
		const quick = isSlow ? { ...options, othersMs: 0 } : options;
		return (await this.#scanAsRemembered(options)) ?? (await this.#scanAgain(quick));
	}

	async #scanAsRemembered(options: ScanOptions): Promise<ScannedTree | undefined> {
		const memory = this.#memory;
		if (!memory || Math.abs(this.#now() - memory.listedMs) > maxAgeMs) return undefined;
		if (realPath(this.#root) !== memory.root) return undefined;
		if (!rulesStillHold(memory.rules) || !memory.folders.stillHolds()) return undefined;
		return await scanListed(this.#root, memory.listing, options);
	}

	async #scanAgain(options: ScanOptions): Promise<ScannedTree> {
		this.#memory = undefined;
		const listedMs = this.#now();
		const watch = await this.#watch();
		const { tree, listing } = await scanAndList(this.#root, options);
		if (watch && listing) this.#memory = { ...watch, listing, listedMs };
		if (options.othersMs !== 0) this.#noteSlowness(tree);
		return tree;
	}

	/** Git's slowness is waited for once. */
	#noteSlowness({ trouble }: ScannedTree): void {
		if (trouble.some(({ kind }) => kind === "slow")) this.#slowSinceMs = this.#now();
	}

	/** Taken before the files are listed, so that the next scan sees what changes meanwhile. */
	async #watch(): Promise<Pick<Memory, "root" | "folders" | "rules"> | undefined> {
		const root = realPath(this.#root);
		const folders = root === undefined ? undefined : FolderWatch.take(root, this.#now);
		if (root === undefined || !folders) return undefined;
		const rules = await lookAtRules(root, {
			folders: folders.having(".gitignore"),
			repositories: folders.having(".git"),
			now: this.#now,
		});
		return { root, folders, rules };
	}
}

/** Undefined if there is nothing, which the scan reports. */
function realPath(path: string): string | undefined {
	try {
		return realpathSync(path);
	} catch {
		return undefined;
	}
}

/** More are not watched: looking at each of them would take longer than asking git. */
const maxFolders = 20_000;

interface WatchedFolder {
	readonly mtimeMs: number;
	readonly ctimeMs: number;
	readonly inode: number;
	/** When it was looked at (ms since 1970), before its entries were read. */
	readonly takenMs: number;
	/** What decides about the list of files: names with their types. Absent if the folder could not be read. */
	readonly entries: ReadonlyMap<string, EntryType> | undefined;
}

type EntryType = "folder" | "link" | "file";

/**
 * Tells whether a list of the files of a tree is still complete: no file appears, or becomes another kind of thing,
 * without its folder changing. It is taken before the list is made. Files that vanish are found by looking at the list.
 */
class FolderWatch {
	readonly #root: string;
	readonly #now: () => number;
	readonly #folders: Map<string, WatchedFolder>;

	private constructor(root: string, now: () => number, folders: Map<string, WatchedFolder>) {
		this.#root = root;
		this.#now = now;
		this.#folders = folders;
	}

	/** Looks at all folders below `root` but `node_modules` and `.git`; undefined if they are too many. */
	static take(root: string, now: () => number): FolderWatch | undefined {
		const folders = new Map<string, WatchedFolder>();
		const open = [""];
		for (let path = open.pop(); path !== undefined; path = open.pop()) {
			if (folders.size >= maxFolders) return undefined;
			const takenMs = now();
			const stats = lstatOrNothing(`${root}/${path}`);
			// Gone since its parent was read, which will show there.
			if (!stats?.isDirectory()) continue;
			const entries = readEntries(`${root}/${path}`);
			folders.set(path, watched(stats, takenMs, entries));
			for (const [name, type] of entries ?? []) {
				if (type === "folder" && name !== ".git") open.push(path === "" ? name : `${path}/${name}`);
			}
		}
		return new FolderWatch(root, now, folders);
	}

	/** The watched folders, as paths from the root, that have an entry of this name. */
	*having(name: string): Generator<string> {
		for (const [path, { entries }] of this.#folders) if (entries?.has(name)) yield path;
	}

	/** False if files may have come that are not in the list, or rules that decide about it have come or gone. */
	stillHolds(): boolean {
		for (const [path, before] of this.#folders) {
			const takenMs = this.#now();
			const stats = lstatOrNothing(`${this.#root}/${path}`);
			if (!stats?.isDirectory()) return false;
			if (isSurelySame(before, stats)) continue;
			const entries = readEntries(`${this.#root}/${path}`);
			if (!bringsNothing(before.entries, entries)) return false;
			this.#folders.set(path, watched(stats, takenMs, entries));
		}
		return true;
	}
}

function watched(
	{ mtimeMs, ctimeMs, ino }: Stats,
	takenMs: number,
	entries: WatchedFolder["entries"],
): WatchedFolder {
	return { mtimeMs, ctimeMs, inode: ino, takenMs, entries };
}

/** Whether nothing can have come to a folder or gone from it; a change within the tick of its times leaves no trace. */
export function isSurelySame(
	before: WatchedFolder,
	{ mtimeMs, ctimeMs, ino }: Pick<Stats, "mtimeMs" | "ctimeMs" | "ino">,
): boolean {
	return (
		before.mtimeMs === mtimeMs &&
		before.ctimeMs === ctimeMs &&
		before.inode === ino &&
		Math.max(mtimeMs, ctimeMs) < before.takenMs - tickMs
	);
}

/** Whether all that is there now was there before; files may have gone, but no folder, link or `.gitignore`. */
function bringsNothing(before: WatchedFolder["entries"], now: WatchedFolder["entries"]): boolean {
	if (before === undefined || now === undefined) return before === now;
	for (const [name, type] of now) if (before.get(name) !== type) return false;
	if (now.size === before.size) return true;
	for (const [name, type] of before) {
		if (!now.has(name) && (type !== "file" || name.startsWith(".git"))) return false;
	}
	return true;
}

/** Of other files only `.gitignore` and `.git` matter. */
function readEntries(folder: string): Map<string, EntryType> | undefined {
	let found: Dirent[];
	try {
		found = readdirSync(folder, { withFileTypes: true });
	} catch {
		// The listing reports it; here it only matters whether that changes.
		return undefined;
	}
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

function lstatOrNothing(path: string): Stats | undefined {
	try {
		return lstatSync(path, { throwIfNoEntry: false });
	} catch {
		return undefined;
	}
}
