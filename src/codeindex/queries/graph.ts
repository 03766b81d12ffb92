import { compareText } from "../../core/compare-text.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import { EDGE_KINDS } from "../../text/kinds.ts";
import type { FileAtDepth } from "../answers.ts";
import type { EdgeKind } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import { dependenciesOf } from "../link/modules.ts";

/** The import graph as adjacency arrays, for queries that walk much of it. */
interface FileGraph {
	/** Sorted by path, since ids depend on indexing order. */
	readonly files: readonly GraphFile[];
	readonly indexOf: ReadonlyMap<FileId, number>;
	/** The edges of file n are `targets[starts[n]]` up to `targets[starts[n + 1] - 1]`. */
	readonly starts: Int32Array;
	readonly targets: Int32Array;
	readonly kinds: readonly Kinds[];
}

type Kinds = readonly EdgeKind[];
type GraphFile = Pick<IndexedFile, "id" | "path" | "isTest">;

/** Caches, keyed by `reader.shape`. */
const graphs = new WeakMap<object, FileGraph>();
const transposed = new WeakMap<object, FileGraph>();
const ranks = new WeakMap<object, ReadonlyMap<FileId, number>>();
const orders = new WeakMap<object, readonly FileId[]>();
const cyclesByKinds = new WeakMap<object, Map<string, Cycles>>();

function graphOf(reader: IndexReader, kinds?: ReadonlySet<EdgeKind>): FileGraph {
	if (!kinds) return getOrAdd(graphs, reader.shape, () => buildGraph(reader, () => true));
	return buildGraph(reader, (found) => found.some((kind) => kinds.has(kind)));
}

function transposedGraphOf(reader: IndexReader): FileGraph {
	return getOrAdd(transposed, reader.shape, () => transpose(graphOf(reader)));
}

function buildGraph(reader: IndexReader, isWanted: (kinds: Kinds) => boolean): FileGraph {
	const byPath = new Map<string, IndexedFile>();
	for (const file of reader.files.values()) byPath.set(file.path, file);
	const files = [...byPath.keys()].sort().map((path) => byPath.get(path) as IndexedFile);
	const indexOf = new Map(files.map(({ id }, index) => [id, index]));
	const starts = new Int32Array(files.length + 1);
	const targets: number[] = [];
	const allKinds: Kinds[] = [];
	for (const [index, { id }] of files.entries()) {
		const own: { target: number; kinds: Kinds }[] = [];
		for (const { file, kinds } of dependenciesOf(reader, id)) {
			const target = indexOf.get(file);
			if (target !== undefined && target !== index && isWanted(kinds)) own.push({ target, kinds });
		}
		// Sorted for stable ranks: the order of additions affects their last digits.
		if (own.length > 1) own.sort((a, b) => a.target - b.target);
		for (const { target, kinds } of own) {
			targets.push(target);
			allKinds.push(kinds);
		}
		starts[index + 1] = targets.length;
	}
	return { files, indexOf, starts, targets: Int32Array.from(targets), kinds: allKinds };
}

function transpose({ files, indexOf, starts, targets, kinds }: FileGraph): FileGraph {
	const back = new Int32Array(starts.length);
	for (const target of targets) back[target + 1] = (back[target + 1] as number) + 1;
	for (let index = 1; index < back.length; index++) {
		back[index] = (back[index] as number) + (back[index - 1] as number);
	}
	const next = back.slice();
	const sources = new Int32Array(targets.length);
	const kindsBack: Kinds[] = new Array(targets.length);
	for (let from = 0; from < files.length; from++) {
		for (let edge = starts[from] as number; edge < (starts[from + 1] as number); edge++) {
			const target = targets[edge] as number;
			const place = next[target] as number;
			next[target] = place + 1;
			sources[place] = from;
			kindsBack[place] = kinds[edge] as Kinds;
		}
	}
	return { files, indexOf, starts: back, targets: sources, kinds: kindsBack };
}

/** PageRank over imports, scaled to a maximum of 1. Independent of indexing order. */
export function ranksOf(reader: IndexReader): ReadonlyMap<FileId, number> {
	return getOrAdd(ranks, reader.shape, () => computeRanks(graphOf(reader)));
}

/** All files but tests, highest rank first, then by path. */
export function filesByRank(reader: IndexReader): readonly FileId[] {
	return getOrAdd(orders, reader.shape, () => {
		const rankOf = ranksOf(reader);
		const ranked = graphOf(reader)
			.files.filter(({ isTest }) => !isTest)
			.map(({ id }) => ({ id, rank: rankOf.get(id) ?? 0 }));
		return ranked.sort((a, b) => b.rank - a.rank).map(({ id }) => id);
	});
}

const DAMPING = 0.85;
/** After this many rounds, ranks have converged to three digits. */
const ROUNDS = 20;
/** Imports in tests say less about the project. Other files weigh 1. */
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

interface ReachOptions {
	readonly direction: "dependents" | "dependencies";
	/** Default: unlimited. */
	readonly depth?: number;
	/** Default: all. */
	readonly kinds?: Kinds;
	/** Default: true. */
	readonly includeTests?: boolean;
}

export interface Reached {
	readonly file: IndexedFile;
	readonly depth: number;
	readonly kinds: Kinds;
	readonly via?: IndexedFile;
}

/** Nearest first, then by path. Of equally short routes, the first by path is used. */
export function reach(
	reader: IndexReader,
	starts: readonly IndexedFile[],
	{ direction, depth = Number.POSITIVE_INFINITY, kinds, includeTests = true }: ReachOptions,
): readonly Reached[] {
	const wanted = kinds && new Set(kinds);
	const graph = direction === "dependents" ? transposedGraphOf(reader) : graphOf(reader);
	// Graph indexes are in path order, so sorting indexes sorts by path.
	const fileOf = (number: number) => reader.files.get((graph.files[number] as GraphFile).id);
	const isSeen = new Uint8Array(graph.files.length);
	let frontier = Int32Array.from(starts, ({ id }) => graph.indexOf.get(id) ?? 0).sort();
	for (const start of frontier) isSeen[start] = 1;
	const reached: Reached[] = [];
	const kindsTo: Kinds[] = [];
	const stepBefore = new Int32Array(graph.files.length);
	for (let level = 1; level <= depth && frontier.length > 0; level++) {
		const next: number[] = [];
		for (const from of frontier) {
			const end = graph.starts[from + 1] as number;
			for (let edge = graph.starts[from] as number; edge < end; edge++) {
				const to = graph.targets[edge] as number;
				if (isSeen[to]) continue;
				const all = graph.kinds[edge] as Kinds;
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
			const kinds = kindsTo[to] as Kinds;
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

export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
	return compareText(a.path, b.path);
}

/** For each file in a cycle, the paths of its strongly connected component. */
type Cycles = ReadonlyMap<FileId, readonly string[]>;

export function cyclesAmong(
	reader: IndexReader,
	files: readonly IndexedFile[],
	kinds?: Kinds,
): readonly (readonly string[])[] {
	const key = kinds ? [...new Set(kinds)].sort().join(" ") : "";
	const ofShape = getOrAdd(cyclesByKinds, reader.shape, () => new Map<string, Cycles>());
	// Files of one package may use each other.
	const importing = new Set((kinds ?? EDGE_KINDS).filter((kind) => kind !== "package"));
	const cycles = getOrAdd(ofShape, key, () => findCycles(graphOf(reader, importing)));
	const found = files.map(({ id }) => cycles.get(id)).filter((group) => group !== undefined);
	return [...new Set(found)];
}

function findCycles(graph: FileGraph): Cycles {
	const groupOf = new Map<FileId, readonly string[]>();
	for (const group of components(graph)) {
		if (group.length < 2) continue;
		const files = group.flatMap((index) => graph.files[index] ?? []);
		const paths = files.map(({ path }) => path).sort();
		for (const { id } of files) groupOf.set(id, paths);
	}
	return groupOf;
}

/** Tarjan's algorithm without recursion, since import chains can be thousands of files long. */
export function* components({
	starts,
	targets,
}: Pick<FileGraph, "starts" | "targets">): Generator<readonly number[]> {
	const count = starts.length - 1;
	const order = new Int32Array(count);
	const lowLink = new Int32Array(count);
	const isOpen = new Uint8Array(count);
	const next = starts.slice();
	const open: number[] = [];
	let visited = 0;

	for (let root = 0; root < count; root++) {
		if (order[root] !== 0) continue;
		const path = [root];
		enter(root);
		for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
			const edge = next[node] as number;
			if (edge < (starts[node + 1] as number)) {
				next[node] = edge + 1;
				const target = targets[edge] as number;
				if (order[target] === 0) {
					enter(target);
					path.push(target);
				} else if (isOpen[target]) lower(node, order[target] as number);
				continue;
			}
			path.pop();
			const parent = path.at(-1);
			if (parent !== undefined) lower(parent, lowLink[node] as number);
			if (lowLink[node] === order[node]) yield close(node);
		}
	}

	function enter(node: number): void {
		order[node] = lowLink[node] = ++visited;
		isOpen[node] = 1;
		open.push(node);
	}

	function lower(node: number, to: number): void {
		if (to < (lowLink[node] as number)) lowLink[node] = to;
	}

	function close(first: number): readonly number[] {
		const group = open.splice(open.lastIndexOf(first));
		for (const node of group) isOpen[node] = 0;
		return group;
	}
}
