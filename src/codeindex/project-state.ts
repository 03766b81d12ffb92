import { compareText } from "../core/compare-text.ts";
import { changedFiles, type KnownFile } from "./scan/changed-files.ts";
import type { ScannedFile, ScannedTree, Symlink } from "./scan/scanned-tree.ts";

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
	const configs = [...unchanged.map(({ path }) => known.get(path) as KnownConfig), ...looked].sort(
		(one, other) => compareText(one.path, other.path),
	);
	const changed = looked.filter(({ path, hash }) => known.get(path)?.hash !== hash);
	const links = changedLinks(before.links, tree.links);
	return {
		state: { configs, links: tree.links, lookedFor: before.lookedFor },
		configs: [...removed, ...changed.map(({ path }) => path)],
		links,
		isNew: looked.length > 0 || removed.length > 0 || links.length > 0,
	};
}

function changedLinks(before: readonly Symlink[], now: readonly Symlink[]): string[] {
	const old = new Map(before.map(({ path, target }) => [path, target]));
	const changed = now.filter(({ path, target }) => old.get(path) !== target);
	const present = new Set(now.map(({ path }) => path));
	const gone = before.filter(({ path }) => !present.has(path));
	return [...changed, ...gone].map(({ path }) => path);
}
