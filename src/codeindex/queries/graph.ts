import type { EdgeKind } from "../facts.ts";
import { dependenciesOf } from "../link/index.ts";
import type { FileId, IndexedFile, IndexReader } from "../reader.ts";

/** All files and what they ask for, in arrays, for what walks much of the graph. */
export interface FileGraph {
	/** By path, since ids depend on how the index came about. */
	readonly files: readonly GraphFile[];
	readonly indexOf: ReadonlyMap<FileId, number>;
	/** What file n asks for is in `targets` from `starts[n]` to `starts[n + 1]`. */
	readonly starts: Int32Array;
	readonly targets: Int32Array;
	/** How, in the same places as the targets. */
	readonly kinds: readonly (readonly EdgeKind[])[];
}

/** What does not change with a file's content. */
export type GraphFile = Pick<IndexedFile, "id" | "path" | "isTest">;

/** The graph of a project; with `kinds` only of edges that are of one of these. */
export function graphOf(reader: IndexReader, kinds?: ReadonlySet<EdgeKind>): FileGraph {
	if (kinds) return pack(reader, (found) => found.some((kind) => kinds.has(kind)));
	const known = memo.get(reader.shape);
	if (known) return known;
	const graph = pack(reader, () => true);
	memo.set(reader.shape, graph);
	return graph;
}

/** The same graph with every edge turned round: what asks for a file. */
export function graphBackwards(reader: IndexReader): FileGraph {
	const known = memoBackwards.get(reader.shape);
	if (known) return known;
	const graph = turnRound(graphOf(reader));
	memoBackwards.set(reader.shape, graph);
	return graph;
}

const memo = new WeakMap<object, FileGraph>();
const memoBackwards = new WeakMap<object, FileGraph>();

function pack(reader: IndexReader, isWanted: (kinds: readonly EdgeKind[]) => boolean): FileGraph {
	const byPath = new Map<string, IndexedFile>();
	for (const file of reader.files.values()) byPath.set(file.path, file);
	const files = [...byPath.keys()].sort().map((path) => byPath.get(path) as IndexedFile);
	const indexOf = new Map(files.map(({ id }, index) => [id, index]));
	const starts = new Int32Array(files.length + 1);
	const targets: number[] = [];
	const allKinds: (readonly EdgeKind[])[] = [];
	for (const [index, { id }] of files.entries()) {
		const own: { target: number; kinds: readonly EdgeKind[] }[] = [];
		for (const { file, kinds } of dependenciesOf(reader, id)) {
			const target = indexOf.get(file);
			if (target !== undefined && target !== index && isWanted(kinds)) own.push({ target, kinds });
		}
		// In order, since the order of additions decides the last digits of a rank.
		if (own.length > 1) own.sort((a, b) => a.target - b.target);
		for (const { target, kinds } of own) {
			targets.push(target);
			allKinds.push(kinds);
		}
		starts[index + 1] = targets.length;
	}
	return { files, indexOf, starts, targets: Int32Array.from(targets), kinds: allKinds };
}

function turnRound({ files, indexOf, starts, targets, kinds }: FileGraph): FileGraph {
	const back = new Int32Array(starts.length);
	for (const target of targets) back[target + 1] = (back[target + 1] as number) + 1;
	for (let index = 1; index < back.length; index++) {
		back[index] = (back[index] as number) + (back[index - 1] as number);
	}
	const next = back.slice();
	const sources = new Int32Array(targets.length);
	const kindsBack: (readonly EdgeKind[])[] = new Array(targets.length);
	for (let from = 0; from < files.length; from++) {
		for (let edge = starts[from] as number; edge < (starts[from + 1] as number); edge++) {
			const target = targets[edge] as number;
			const place = next[target] as number;
			next[target] = place + 1;
			sources[place] = from;
			kindsBack[place] = kinds[edge] as readonly EdgeKind[];
		}
	}
	return { files, indexOf, starts: back, targets: sources, kinds: kindsBack };
}
