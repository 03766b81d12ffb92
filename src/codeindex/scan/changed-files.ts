import { compareText } from "../../core/compare-text.ts";
import type { ScannedFile, ScannedTree, Symlink } from "./scanned-tree.ts";

export interface KnownFile extends ScannedFile {
	/** Time of the stat, before the content was read (ms since 1970). */
	readonly storedMs: number;
}

export interface FileChanges {
	readonly added: readonly ScannedFile[];
	readonly removed: readonly string[];
	readonly unchanged: readonly ScannedFile[];
	/** Metadata is inconclusive. */
	readonly toHash: readonly ScannedFile[];
}

/** A second write within one clock tick leaves no trace: files stored within it must be hashed. */
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

/** The coarsest timestamp resolution in use (FAT). */
export const tickMs = 2_000;

export function isSameFile(before: ScannedFile, now: ScannedFile): boolean {
	return (
		before.bytes === now.bytes &&
		before.mtimeMs === now.mtimeMs &&
		before.ctimeMs === now.ctimeMs &&
		before.inode === now.inode
	);
}

export interface KnownConfig extends KnownFile {
	readonly hash: string;
}

/** Besides the list of files, this decides where imports lead. */
export interface ProjectState {
	readonly configs: readonly KnownConfig[];
	readonly links: readonly Symlink[];
	readonly lookedFor: readonly string[];
}

export const noProjectState: ProjectState = { configs: [], links: [], lookedFor: [] };

export interface ProjectChanges {
	readonly state: ProjectState;
	readonly configs: readonly string[];
	readonly links: readonly string[];
	/** Must be stored, if only for new timestamps. */
	readonly isNew: boolean;
}

/** `hash` is called for files that may have changed. */
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
