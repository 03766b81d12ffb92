import { type Dirent, lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { tickMs } from "./changed-files.ts";
import { pathKind } from "./project-path.ts";
import { lookAtRules, type RuleFiles, rulesStillHold } from "./rule-files.ts";
import { type Listing, type ScanOptions, scanAndList, scanListed, scanTree } from "./scan-tree.ts";
import type { ScannedTree } from "./scanned-tree.ts";

interface Memory {
	readonly root: string;
	readonly listing: Listing;
	readonly folders: FolderWatch;
	readonly rules: RuleFiles;
	readonly listedMs: number;
}

/** Lists expire: some file systems do not update folder times. */
const maxAgeMs = 10 * 60_000;

/** Git lists files again only if a folder, a `.gitignore` or one of git's own files changed. */
export class TreeScanner {
	readonly #root: string;
	readonly #now: () => number;
	#memory: Memory | undefined;
	#hasScanned = false;
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

	#noteSlowness({ trouble }: ScannedTree): void {
		if (trouble.some(({ kind }) => kind === "slow")) this.#slowSinceMs = this.#now();
	}

	/** Taken before the listing, so that concurrent changes show in the next scan. */
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

function realPath(path: string): string | undefined {
	try {
		return realpathSync(path);
	} catch {
		return undefined;
	}
}

/** Above this, asking git is faster than checking each folder. */
const maxFolders = 20_000;

interface WatchedFolder {
	readonly mtimeMs: number;
	readonly ctimeMs: number;
	readonly inode: number;
	/** Before its entries were read (ms since 1970). */
	readonly takenMs: number;
	/** Names with types. Absent if the folder could not be read. */
	readonly entries: ReadonlyMap<string, EntryType> | undefined;
}

type EntryType = "folder" | "link" | "file";

/**
 * Detects new entries: none appears or changes type without its folder changing. Taken before the
 * listing. Deleted files are found by checking the list.
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

	/** Skips `node_modules` and `.git`. Undefined if there are too many folders. */
	static take(root: string, now: () => number): FolderWatch | undefined {
		const folders = new Map<string, WatchedFolder>();
		const open = [""];
		for (let path = open.pop(); path !== undefined; path = open.pop()) {
			if (folders.size >= maxFolders) return undefined;
			const takenMs = now();
			const stats = lstatOrNothing(`${root}/${path}`);
			// Gone since its parent was read, which shows there.
			if (!stats?.isDirectory()) continue;
			const entries = readEntries(`${root}/${path}`);
			folders.set(path, watched(stats, takenMs, entries));
			for (const [name, type] of entries ?? []) {
				if (type === "folder" && name !== ".git") open.push(path === "" ? name : `${path}/${name}`);
			}
		}
		return new FolderWatch(root, now, folders);
	}

	*having(name: string): Generator<string> {
		for (const [path, { entries }] of this.#folders) if (entries?.has(name)) yield path;
	}

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

/** A change within the clock tick of its times leaves no trace. */
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

/** Files may be gone, but no folder, link or `.gitignore`. */
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
		// The listing reports the error.
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
