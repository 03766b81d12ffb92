import type { FileAtDepth } from "../answers.ts";
import type { EdgeKind } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../reader.ts";

/** Which way to go, how far, and what to leave out. */
export interface ReachOptions {
	readonly direction: "dependents" | "dependencies";
	/** How many steps at most; default: as far as it goes. */
	readonly depth?: number;
	/** Only edges of these kinds; default: all. */
	readonly kinds?: readonly EdgeKind[];
	/** Whether tests are listed and gone through; default: true. */
	readonly includeTests?: boolean;
}

/** A file that is reached, with what is known of it. */
export interface Reached {
	readonly file: IndexedFile;
	readonly depth: number;
	readonly kinds: readonly EdgeKind[];
	/** The file of the step before; absent after the first step. */
	readonly via?: IndexedFile;
}

/**
 * All files that can be reached from some files, these left out: the nearest first, then by path. Of several ways of
 * the same length the one over the first path counts.
 */
export function reach(
	reader: IndexReader,
	starts: readonly IndexedFile[],
	{ direction, depth = Number.POSITIVE_INFINITY, kinds, includeTests = true }: ReachOptions,
): readonly Reached[] {
	const wanted = kinds && new Set(kinds);
	const seen = new Set<FileId>(starts.map(({ id }) => id));
	const reached: Reached[] = [];
	let frontier: readonly Reached[] = [...starts]
		.sort(byPath)
		.map((file) => ({ file, depth: 0, kinds: [] }));
	for (let level = 1; level <= depth && frontier.length > 0; level++) {
		const next: Reached[] = [];
		for (const { file: from } of frontier) {
			for (const edge of reader[direction](from.id)) {
				if (seen.has(edge.file)) continue;
				const found = wanted ? edge.kinds.filter((kind) => wanted.has(kind)) : edge.kinds;
				const file = reader.files.get(edge.file);
				if (found.length === 0 || !file || (file.isTest && !includeTests)) continue;
				seen.add(edge.file);
				next.push({ file, depth: level, kinds: found, ...(level > 1 && { via: from }) });
			}
		}
		next.sort((a, b) => byPath(a.file, b.file));
		for (const one of next) reached.push(one);
		frontier = next;
	}
	return reached;
}

/** As it stands in an answer. */
export function toFileAtDepth({ file, depth, kinds, via }: Reached): FileAtDepth {
	return {
		path: file.path,
		depth,
		kinds: kinds.length < 2 ? kinds : [...kinds].sort(),
		isTest: file.isTest,
		...(via && { via: via.path }),
	};
}

/** Orders by path, code unit by code unit, the same on every machine. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
	return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
