import type { EdgeKind } from "../facts.ts";
import type { FileId, IndexReader } from "../reader.ts";
import { type FileGraph, graphOf, perShape } from "./graph.ts";

/** Strongly connected components of two or more files. */
export interface Cycles {
	of(file: FileId): readonly string[] | undefined;
}

const byKinds = new WeakMap<object, Map<string, Cycles>>();

export function cyclesOf(reader: IndexReader, kinds?: readonly EdgeKind[]): Cycles {
	const key = kinds ? [...new Set(kinds)].sort().join(" ") : "";
	const ofShape = perShape(byKinds, reader, () => new Map());
	const cycles = ofShape.get(key) ?? findCycles(graphOf(reader, kinds && new Set(kinds)));
	ofShape.set(key, cycles);
	return cycles;
}

function findCycles(graph: FileGraph): Cycles {
	const groupOf = new Map<FileId, readonly string[]>();
	for (const group of components(graph)) {
		if (group.length < 2) continue;
		const files = group.flatMap((index) => graph.files[index] ?? []);
		const paths = files.map(({ path }) => path).sort();
		for (const { id } of files) groupOf.set(id, paths);
	}
	return { of: (file) => groupOf.get(file) };
}

/** Tarjan's algorithm with an explicit stack: import chains can be thousands of files long. */
export function* components({
	starts,
	targets,
}: Pick<FileGraph, "starts" | "targets">): Generator<readonly number[]> {
	const count = starts.length - 1;
	const order = new Int32Array(count);
	/** Tarjan's low-link. */
	const earliest = new Int32Array(count);
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
			if (parent !== undefined) lower(parent, earliest[node] as number);
			if (earliest[node] === order[node]) yield close(node);
		}
	}

	function enter(node: number): void {
		order[node] = earliest[node] = ++visited;
		isOpen[node] = 1;
		open.push(node);
	}

	function lower(node: number, to: number): void {
		if (to < (earliest[node] as number)) earliest[node] = to;
	}

	function close(first: number): readonly number[] {
		const group = open.splice(open.lastIndexOf(first));
		for (const node of group) isOpen[node] = 0;
		return group;
	}
}
