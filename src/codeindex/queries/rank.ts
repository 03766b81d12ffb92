import type { FileId, IndexReader } from "../reader.ts";
import { type FileGraph, graphOf } from "./graph.ts";

/**
 * How much the other files rest on each file: PageRank over the imports, with 1 for the file that most rests on. The
 * same project gives the same ranks, however its index came about.
 */
export function ranksOf(reader: IndexReader): ReadonlyMap<FileId, number> {
	const known = memo.get(reader.shape);
	if (known) return known;
	const ranks = computeRanks(graphOf(reader));
	memo.set(reader.shape, ranks);
	return ranks;
}

const memo = new WeakMap<object, ReadonlyMap<FileId, number>>();

/** All files but tests, those that most rests on first, then by path. */
export function filesByRank(reader: IndexReader): readonly FileId[] {
	const known = orders.get(reader.shape);
	if (known) return known;
	const ranks = ranksOf(reader);
	const ranked = graphOf(reader)
		.files.filter(({ isTest }) => !isTest)
		.map(({ id }) => ({ id, rank: ranks.get(id) ?? 0 }));
	// The graph has them by path, and sorting leaves equal ones as they are.
	const order = ranked.sort((a, b) => b.rank - a.rank).map(({ id }) => id);
	orders.set(reader.shape, order);
	return order;
}

const orders = new WeakMap<object, readonly FileId[]>();

const DAMPING = 0.85;
/** Ranks have settled to three digits by then. */
const ROUNDS = 20;
/** What a test asks for says less about the project than what its other files ask for. */
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
