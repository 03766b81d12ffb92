import { compareText } from "../../core/compare-text.ts";
import type { FileAtDepth } from "../answers.ts";
import type { EdgeKind } from "../facts.ts";
import type { IndexedFile, IndexReader } from "../reader.ts";
import { type GraphFile, graphBackwards, graphOf } from "./graph.ts";

export interface ReachOptions {
	readonly direction: "dependents" | "dependencies";
	/** Default: unlimited. */
	readonly depth?: number;
	/** Default: all. */
	readonly kinds?: readonly EdgeKind[];
	/** Default: true. */
	readonly includeTests?: boolean;
}

export interface Reached {
	readonly file: IndexedFile;
	readonly depth: number;
	readonly kinds: readonly EdgeKind[];
	readonly via?: IndexedFile;
}

/** Nearest first, then by path. Ties go to the first path. */
export function reach(
	reader: IndexReader,
	starts: readonly IndexedFile[],
	{ direction, depth = Number.POSITIVE_INFINITY, kinds, includeTests = true }: ReachOptions,
): readonly Reached[] {
	const wanted = kinds && new Set(kinds);
	const graph = direction === "dependents" ? graphBackwards(reader) : graphOf(reader);
	// Graph numbers are in path order, so numbers are sorted instead of paths.
	const fileOf = (number: number) => reader.files.get((graph.files[number] as GraphFile).id);
	const isSeen = new Uint8Array(graph.files.length);
	let frontier = Int32Array.from(starts, ({ id }) => graph.indexOf.get(id) ?? 0).sort();
	for (const start of frontier) isSeen[start] = 1;
	const reached: Reached[] = [];
	const kindsTo: (readonly EdgeKind[])[] = [];
	const stepBefore = new Int32Array(graph.files.length);
	for (let level = 1; level <= depth && frontier.length > 0; level++) {
		const next: number[] = [];
		for (const from of frontier) {
			const end = graph.starts[from + 1] as number;
			for (let edge = graph.starts[from] as number; edge < end; edge++) {
				const to = graph.targets[edge] as number;
				if (isSeen[to]) continue;
				const all = graph.kinds[edge] as readonly EdgeKind[];
				const found = wanted ? all.filter((kind) => wanted.has(kind)) : all;
				if (found.length === 0 || (!includeTests && graph.files[to]?.isTest)) continue;
				isSeen[to] = 1;
				kindsTo[to] = found;
				stepBefore[to] = from;
				next.push(to);
			}
		}
		frontier = Int32Array.from(next).sort();
		for (const to of frontier) {
			const file = fileOf(to);
			const via = level > 1 ? fileOf(stepBefore[to] as number) : undefined;
			if (!file) continue;
			const kinds = kindsTo[to] as readonly EdgeKind[];
			reached.push(via ? { file, depth: level, kinds, via } : { file, depth: level, kinds });
		}
	}
	return reached;
}

export function toFileAtDepth({ file, depth, kinds, via }: Reached): FileAtDepth {
	return {
		path: file.path,
		depth,
		kinds: kinds.length < 2 ? kinds : [...kinds].sort(),
		isTest: file.isTest,
		...(via && { via: via.path }),
	};
}

/** By UTF-16 code unit, independent of locale. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
	return compareText(a.path, b.path);
}
