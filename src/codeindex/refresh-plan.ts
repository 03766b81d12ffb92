import { setImmediate } from "node:timers/promises";
import { CodeIndexError } from "./code-index.ts";
import { type ProjectChanges, projectChanges } from "./project-state.ts";
import { readSource } from "./read-source.ts";
import { changedFiles } from "./scan/changed-files.ts";
import type { ScannedFile, ScannedTree } from "./scan/scanned-tree.ts";
import type { IndexStore } from "./store/index-store.ts";

/** The tree of a project at one moment. */
export interface Scan {
	readonly root: string;
	readonly tree: ScannedTree;
	/** When it was looked at (ms since 1970). */
	readonly scannedMs: number;
}

/** What has to be stored so that the index says what the tree says. */
export interface RefreshPlan {
	readonly scan: Scan;
	/** The first indexing is under way, or begins. */
	readonly isFirst: boolean;
	/** When the plan is carried out the index covers the whole tree. */
	readonly completes: boolean;
	/** Files to parse that were not taken in before. Some were already announced, and `unknown` were not. */
	readonly added: readonly ScannedFile[];
	readonly unknown: readonly ScannedFile[];
	/** Files to parse anew. */
	readonly changed: readonly ScannedFile[];
	/** Paths of files that are gone. */
	readonly removed: readonly string[];
	/** Files whose times have changed, or say nothing yet, and whose content is what is stored. */
	readonly confirmed: readonly ScannedFile[];
	readonly project: ProjectChanges;
	/** There is nothing to do. */
	readonly isEmpty: boolean;
}

export interface PlanOptions {
	readonly signal?: AbortSignal | undefined;
	/** Files that were never taken in may be while the first indexing is not finished. */
	readonly mayBuild: boolean;
}

/** So many files are read before others, such as whoever wants to abort, get a turn. */
const READS_PER_TURN = 64;

/** Compares a scan with what is stored, and where times leave a doubt, content with its hash. */
export async function planRefresh(
	store: IndexStore,
	scan: Scan,
	{ signal, mayBuild }: PlanOptions,
): Promise<RefreshPlan> {
	const { root, tree, scannedMs } = scan;
	const { isComplete } = store.state();
	const { added, removed, toHash } = changedFiles(store.files.known, tree.files);
	const changed: ScannedFile[] = [];
	const confirmed: ScannedFile[] = [];
	const announced: ScannedFile[] = [];
	for (const [index, file] of toHash.entries()) {
		if (index % READS_PER_TURN === 0) {
			await setImmediate();
			if (signal?.aborted) throw new CodeIndexError("aborted", "Refreshing the index was aborted.");
		}
		const content = store.files.row(file.path)?.content;
		if (!content) announced.push(file);
		else if (hasHash(root, file.path, content.hash)) confirmed.push(file);
		else changed.push(file);
	}
	const project = projectChanges(store.projectState(), tree, {
		hash: (path) => configHash(root, path),
		scannedMs,
	});
	const completes = isComplete || mayBuild;
	const files = {
		added: completes ? [...announced, ...added] : [],
		unknown: completes ? added : [],
		changed,
		removed,
		confirmed,
	};
	const hasFiles = Object.values(files).some((list) => list.length > 0);
	const isEmpty = !hasFiles && !project.isNew && isComplete === completes;
	return { scan, isFirst: !isComplete, completes, ...files, project, isEmpty };
}

function hasHash(root: string, path: string, hash: Uint8Array): boolean {
	const source = readSource(root, path);
	return source.kind === "read" && Buffer.compare(source.hash, hash) === 0;
}

function configHash(root: string, path: string): string {
	// Packages of a workspace are links in `node_modules`.
	const source = readSource(root, path, { followLinks: true });
	return source.kind === "read" ? Buffer.from(source.hash).toString("hex") : source.kind;
}
