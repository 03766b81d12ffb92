import { getOrAdd } from "../../core/get-or-add.ts";
import type { EdgeKind } from "../facts.ts";
import type { Edge, FileId, IndexReader } from "../reader.ts";

/**
 * A declaration file and its JavaScript (`index.d.ts`, `index.js`) are one module. As in
 * TypeScript, an import resolves to the declaration and loads the JavaScript.
 */
export interface ModulePairs {
	other(file: FileId): FileId | undefined;
	implementation(file: FileId): FileId | undefined;
}

export function pairsOf(reader: IndexReader): ModulePairs {
	return memo.get(reader.shape) ?? getOrAdd(memo, reader.shape, () => findPairs(reader));
}

const memo = new WeakMap<object, ModulePairs>();

/** Unique files. Includes both files of a pair, the declaration for its types. */
export function dependenciesOf(reader: IndexReader, file: FileId): readonly Edge[] {
	const pairs = pairsOf(reader);
	const edges = reader.dependencies(file);
	if (!edges.some((edge) => pairs.other(edge.file) !== undefined)) return edges;
	return merged(
		edges.flatMap((edge) => {
			const other = pairs.other(edge.file);
			const both = other === undefined ? [edge.file] : [edge.file, other];
			return both.map((target) => ({ file: target, kinds: kindsTo(pairs, target, edge.kinds) }));
		}),
	);
}

/** Unique files. Includes importers of either file of a pair. */
export function dependentsOf(reader: IndexReader, file: FileId): readonly Edge[] {
	const pairs = pairsOf(reader);
	const other = pairs.other(file);
	if (other === undefined) return reader.dependents(file);
	return merged(
		[...reader.dependents(file), ...reader.dependents(other)].map((edge) => ({
			file: edge.file,
			kinds: kindsTo(pairs, file, edge.kinds),
		})),
	);
}

const TYPE_ONLY: readonly EdgeKind[] = ["type"];

function kindsTo(
	pairs: ModulePairs,
	target: FileId,
	kinds: readonly EdgeKind[],
): readonly EdgeKind[] {
	return pairs.implementation(target) === undefined ? kinds : TYPE_ONLY;
}

function merged(edges: readonly Edge[]): Edge[] {
	const all = new Map<FileId, Edge>();
	for (const edge of edges) {
		const known = all.get(edge.file);
		const kinds = known ? [...new Set([...known.kinds, ...edge.kinds])] : edge.kinds;
		all.set(edge.file, { file: edge.file, kinds });
	}
	return [...all.values()];
}

function findPairs(reader: IndexReader): ModulePairs {
	const implementations = new Map<FileId, FileId>();
	const declarations = new Map<FileId, FileId>();
	for (const { id, path } of reader.files.values()) {
		const beside = BESIDE.find(({ declaration }) => path.endsWith(declaration));
		if (!beside) continue;
		const { declaration, sources, plain } = beside;
		const stem = path.slice(0, -declaration.length);
		// A TypeScript sibling takes precedence.
		if (sources.some((ending) => reader.fileAt(stem + ending))) continue;
		const implementation = plain.flatMap((ending) => reader.fileAt(stem + ending) ?? [])[0];
		if (!implementation) continue;
		implementations.set(id, implementation.id);
		declarations.set(implementation.id, id);
	}
	return {
		other: (file) => implementations.get(file) ?? declarations.get(file),
		implementation: (file) => implementations.get(file),
	};
}

/** A `.d.ts` is hidden by TypeScript and describes JavaScript. A RegExp is five times slower. */
const BESIDE = [
	{ declaration: ".d.ts", sources: [".ts", ".tsx"], plain: [".js", ".jsx"] },
	{ declaration: ".d.mts", sources: [".mts"], plain: [".mjs"] },
	{ declaration: ".d.cts", sources: [".cts"], plain: [".cjs"] },
] as const;
