import type { EdgeKind } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../reader.ts";

/** All files and what they ask for, in arrays, for what walks the whole graph. */
export interface FileGraph {
	/** By path, since ids depend on how the index came about. */
	readonly files: readonly IndexedFile[];
	readonly indexOf: ReadonlyMap<FileId, number>;
	/** What file n asks for is in `targets` from `starts[n]` to `starts[n + 1]`. */
	readonly starts: Int32Array;
	readonly targets: Int32Array;
}

/** The graph of a project; with `kinds` only of edges that are of one of these. */
export function graphOf(reader: IndexReader, kinds?: ReadonlySet<EdgeKind>): FileGraph {
	if (kinds) return pack(reader, (found) => found.some((kind) => kinds.has(kind)));
	const known = memo.get(reader);
	if (known) return known;
	const graph = pack(reader, () => true);
	memo.set(reader, graph);
	return graph;
}

const memo = new WeakMap<IndexReader, FileGraph>();

function pack(reader: IndexReader, isWanted: (kinds: readonly EdgeKind[]) => boolean): FileGraph {
	const byPath = new Map<string, IndexedFile>();
	for (const file of reader.files.values()) byPath.set(file.path, file);
	const files = [...byPath.keys()].sort().map((path) => byPath.get(path) as IndexedFile);
	const indexOf = new Map(files.map(({ id }, index) => [id, index]));
	const starts = new Int32Array(files.length + 1);
	const targets: number[] = [];
	for (const [index, { id }] of files.entries()) {
		const start = targets.length;
		for (const { file, kinds } of reader.dependencies(id)) {
			const target = indexOf.get(file);
			if (target !== undefined && target !== index && isWanted(kinds)) targets.push(target);
		}
		// In order, since the order of additions decides the last digits of a rank.
		if (targets.length - start > 1) {
			const own = targets.splice(start).sort((a, b) => a - b);
			for (const target of own) targets.push(target);
		}
		starts[index + 1] = targets.length;
	}
	return { files, indexOf, starts, targets: Int32Array.from(targets) };
}
