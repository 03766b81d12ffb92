import type { EdgeKind } from "../facts.ts";
import { dependenciesOf } from "../link/index.ts";
import type { FileId, IndexedFile, IndexReader } from "../reader.ts";

/** Adjacency arrays, for queries that walk much of the graph. */
export interface FileGraph {
	/** By path: ids depend on indexing order. */
	readonly files: readonly GraphFile[];
	readonly indexOf: ReadonlyMap<FileId, number>;
	/** The edges of file n are `targets[starts[n]]` up to `targets[starts[n + 1] - 1]`. */
	readonly starts: Int32Array;
	readonly targets: Int32Array;
	readonly kinds: readonly (readonly EdgeKind[])[];
}

export type GraphFile = Pick<IndexedFile, "id" | "path" | "isTest">;

export function perShape<T>(memo: WeakMap<object, T>, reader: IndexReader, make: () => T): T {
	const value = memo.get(reader.shape) ?? make();
	memo.set(reader.shape, value);
	return value;
}

const graphs = new WeakMap<object, FileGraph>();
const reversed = new WeakMap<object, FileGraph>();
const ranks = new WeakMap<object, ReadonlyMap<FileId, number>>();
const orders = new WeakMap<object, readonly FileId[]>();

export function graphOf(reader: IndexReader, kinds?: ReadonlySet<EdgeKind>): FileGraph {
	if (!kinds) return perShape(graphs, reader, () => pack(reader, () => true));
	return pack(reader, (found) => found.some((kind) => kinds.has(kind)));
}

export function graphBackwards(reader: IndexReader): FileGraph {
	return perShape(reversed, reader, () => turnRound(graphOf(reader)));
}

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
		// Sorted: the order of additions decides the last digits of a rank.
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

/** PageRank over imports, scaled to a maximum of 1. Independent of indexing order. */
export function ranksOf(reader: IndexReader): ReadonlyMap<FileId, number> {
	return perShape(ranks, reader, () => computeRanks(graphOf(reader)));
}

/** Without tests; highest rank first, then by path. */
export function filesByRank(reader: IndexReader): readonly FileId[] {
	return perShape(orders, reader, () => {
		const rankOf = ranksOf(reader);
		const ranked = graphOf(reader)
			.files.filter(({ isTest }) => !isTest)
			.map(({ id }) => ({ id, rank: rankOf.get(id) ?? 0 }));
		return ranked.sort((a, b) => b.rank - a.rank).map(({ id }) => id);
	});
}

const DAMPING = 0.85;
/** Ranks converge to three digits by then. */
const ROUNDS = 20;
/** Imports of a test say less about the project. */
const WEIGHT_OF_TEST = 0.2;

function computeRanks({ files, starts, targets }: FileGraph): ReadonlyMap<FileId, number> {
	const weights = Float64Array.from(files, ({ isTest }) => (isTest ? WEIGHT_OF_TEST : 1));
	const totalWeight = weights.reduce((sum, weight) => sum + weight, 0);

	let ranks = weights.map((weight) => weight / totalWeight);
	for (let round = 0; round < ROUNDS; round++) {
		const next = new Float64Array(files.length);
		let spread = 1 - DAMPING;
		for (let from = 0; from < files.length; from++) {
			const start = starts[from] as number;
			const end = starts[from + 1] as number;
			const given = DAMPING * (ranks[from] as number);
			if (start === end) spread += given;
			const share = given / (end - start);
			for (let edge = start; edge < end; edge++) {
				const to = targets[edge] as number;
				next[to] = (next[to] as number) + share;
			}
		}
		for (let to = 0; to < files.length; to++) {
			next[to] = (next[to] as number) + (spread * (weights[to] as number)) / totalWeight;
		}
		ranks = next;
	}
	const most = ranks.reduce((a, b) => Math.max(a, b), 0);
	return new Map(files.map(({ id }, index) => [id, (ranks[index] as number) / most]));
}
