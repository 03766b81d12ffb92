import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { tickMs } from "./changed-files.ts";
import { pathKind } from "./path-kinds.ts";

/** More are not watched: looking at each of them would take longer than asking git. */
const maxFolders = 20_000;

/** A folder as it was when it was looked at. */
export interface WatchedFolder {
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
 * Tells whether a list of the files of a tree still holds, without making it anew: a file cannot come, or become
 * another kind of thing, without its folder changing. Take the watch before the list is made; then all that happens
 * meanwhile shows. Whoever uses it looks at the listed files themselves, so files that go are none of its business.
 */
export class FolderWatch {
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

/** Of other files than sources and configuration only `.gitignore` matters, and `.git`, whatever that is. */
function readEntries(folder: string): Map<string, EntryType> | undefined {
	let found: Dirent[];
	try {
		found = readdirSync(folder, { withFileTypes: true });
	} catch {
		// Whoever lists the files says so; here it only matters whether that changes.
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
