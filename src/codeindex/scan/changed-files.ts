import { compareText } from "../../core/compare-text.ts";
import type { ScannedFile, ScannedTree, Symlink } from "./scanned-tree.ts";

/** What was stored about a file when its content was last read. */
export interface KnownFile extends ScannedFile {
	/** When its stat data was taken, before the content was read (ms since 1970). */
	readonly storedMs: number;
}

export interface FileChanges {
	readonly added: readonly ScannedFile[];
	readonly removed: readonly string[];
	/** Surely as they were. */
	readonly unchanged: readonly ScannedFile[];
	/** These may have changed: only their content tells. */
	readonly toHash: readonly ScannedFile[];
}

/**
 * Compares a scan with what was stored. A file counts as unchanged only if nothing about it differs and it was not
 * written around the time it was stored: a second write within the same tick leaves no trace in its times.
 */
export function changedFiles(
	known: ReadonlyMap<string, KnownFile>,
	scanned: readonly ScannedFile[],
): FileChanges {
	const added: ScannedFile[] = [];
	const unchanged: ScannedFile[] = [];
	const toHash: ScannedFile[] = [];
	for (const file of scanned) {
		const before = known.get(file.path);
		if (before === undefined) added.push(file);
		else if (isSameFile(before, file) && lastWrite(file) < before.storedMs - tickMs) {
			unchanged.push(file);
		} else toHash.push(file);
	}
	const removed: string[] = [];
	if (unchanged.length + toHash.length < known.size) {
		const present = new Set(scanned.map((file) => file.path));
		for (const path of known.keys()) if (!present.has(path)) removed.push(path);
	}
	return { added, removed, unchanged, toHash };
}

/** The coarsest resolution of file times in use, that of FAT. */
export const tickMs = 2_000;

/** Whether what the file system says about a file is the same. */
export function isSameFile(before: ScannedFile, now: ScannedFile): boolean {
	return (
		before.bytes === now.bytes &&
		before.mtimeMs === now.mtimeMs &&
		before.ctimeMs === now.ctimeMs &&
		before.inode === now.inode
	);
}

/** A configuration file as it was when imports were resolved with it. */
export interface KnownConfig extends KnownFile {
	/** Of its content, in hexadecimal. */
	readonly hash: string;
}

/** What decides, besides the list of files, where imports lead. It is stored with them. */
export interface ProjectState {
	readonly configs: readonly KnownConfig[];
	readonly links: readonly Symlink[];
	/** Files that the resolver looked for besides. */
	readonly lookedFor: readonly string[];
}

export const noProjectState: ProjectState = { configs: [], links: [], lookedFor: [] };

/** The state that a scan shows, and how it differs from the one before. */
export interface ProjectChanges {
	readonly state: ProjectState;
	/** Paths of configuration that is new, gone or says something else. */
	readonly configs: readonly string[];
	/** Paths of links that are new, gone or lead elsewhere. */
	readonly links: readonly string[];
	/** The state has to be stored, if only for the sake of times. */
	readonly isNew: boolean;
}

/** Compares a scan with the state before. `hash` is asked for the content of files that may have changed. */
export function projectChanges(
	before: ProjectState,
	tree: Pick<ScannedTree, "configs" | "links">,
	{ hash, scannedMs }: { hash: (path: string) => string; scannedMs: number },
): ProjectChanges {
	const known = new Map(before.configs.map((config) => [config.path, config]));
	const { added, removed, unchanged, toHash } = changedFiles(known, tree.configs);
	const look = (file: ScannedFile): KnownConfig => ({
		...file,
		storedMs: scannedMs,
		hash: hash(file.path),
	});
	const looked = [...added, ...toHash].map(look);
	const links = changedLinks(before.links, tree.links);
	if (looked.length + removed.length + links.length === 0) {
		return { state: before, configs: [], links, isNew: false };
	}
	const kept = unchanged.flatMap(({ path }) => known.get(path) ?? []);
	const configs = [...kept, ...looked].sort((one, other) => compareText(one.path, other.path));
	const changed = looked.filter(({ path, hash }) => known.get(path)?.hash !== hash);
	return {
		state: { configs, links: tree.links, lookedFor: before.lookedFor },
		configs: [...removed, ...changed.map(({ path }) => path)],
		links,
		isNew: true,
	};
}

function changedLinks(before: readonly Symlink[], now: readonly Symlink[]): string[] {
	const old = new Map(before.map(({ path, target }) => [path, target]));
	const changed = now.filter(({ path, target }) => old.get(path) !== target);
	const present = new Set(now.map(({ path }) => path));
	const gone = before.filter(({ path }) => !present.has(path));
	return [...changed, ...gone].map(({ path }) => path);
}

function lastWrite({ mtimeMs, ctimeMs }: ScannedFile): number {
	return Math.max(mtimeMs, ctimeMs);
}
