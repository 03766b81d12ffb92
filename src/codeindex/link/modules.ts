import { getOrAdd } from "../../core/get-or-add.ts";
import type { Export } from "../facts.ts";
import type { BindingRef, Edge, FileId, IndexReader, Resolution } from "../index-reader.ts";

/** `external` belongs to a package; `unknown` could not be followed to its declaration. */
export type Entity =
	| DeclaredEntity
	| MemberEntity
	| { readonly kind: "namespace"; readonly file: FileId }
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unknown" };

export interface DeclaredEntity extends BindingRef {
	readonly kind: "declared";
}

/** `path` are the indexes into `members`, level by level. */
export interface MemberEntity extends BindingRef {
	readonly kind: "member";
	readonly path: readonly number[];
}

export const UNKNOWN: Entity = { kind: "unknown" };

/** Injective: equal keys mean equal entities. */
export function keyOf(entity: Entity): string {
	if (entity.kind === "declared") return `${entity.file}:${entity.binding}`;
	if (entity.kind === "member") return `${entity.file}:${entity.binding}.${entity.path.join(".")}`;
	if (entity.kind === "namespace") return `${entity.file}:*`;
	return entity.kind === "external" ? `package ${entity.name}` : "unknown";
}

type NamedExport = Exclude<Export, { kind: "star" }>;

/** `memberOf` serves CommonJS: `import { a }` of `module.exports = thing` is `thing.a`. */
export function createExportChains(
	reader: IndexReader,
	memberOf: (entity: Entity, name: string) => Entity | undefined,
) {
	const pairs = pairsOf(reader);
	const own = new Map<FileId, ReturnType<typeof sortExports>>();
	const found = new Map<string, Entity | undefined>();
	// Cycle guard: a barrel may re-export itself.
	const pending = new Set<string>();

	function ownExports(file: FileId): ReturnType<typeof sortExports> {
		// Fast path without a closure.
		return own.get(file) ?? getOrAdd(own, file, () => sortExports(reader.exports(file)));
	}

	/** Covers both files of a pair. `name` may be `default` or `=` (all of CommonJS). */
	function exported(file: FileId, name: string): Entity | undefined {
		const key = `${file} ${name}`;
		if (found.has(key)) return found.get(key);
		if (pending.has(key)) return undefined;
		pending.add(key);
		const entity = inPair(file, (one) => exportedHere(one, name));
		pending.delete(key);
		// Only cache certain results: another pending chain may have cut this one short.
		const isCertain = entity !== undefined && entity.kind !== "unknown";
		if (isCertain || pending.size === 0) found.set(key, entity);
		return entity;
	}

	function exportedHere(file: FileId, name: string): Entity | undefined {
		return (
			throughStars(file, name, new Set()) ?? wholeModule(file, name) ?? partOfWhole(file, name)
		);
	}

	function implementation({ file, binding }: BindingRef): DeclaredEntity | undefined {
		const plain = pairs.implementation(file);
		if (plain === undefined) return undefined;
		for (const { name } of ownExports(file).byBinding.get(binding) ?? []) {
			const entity = exportedHere(plain, name);
			if (entity?.kind === "declared") return entity;
		}
		return undefined;
	}

	/** Own names first, then each `export *` in order. The first match wins, as in TypeScript. */
	function throughStars(file: FileId, name: string, seen: Set<FileId>): Entity | undefined {
		if (seen.has(file)) return undefined;
		seen.add(file);
		const exports = ownExports(file);
		const own = exports.byName.get(name);
		if (own) return ofExport(file, own);
		if (name === "default" || name === "=") return undefined;
		let outside: Entity | undefined;
		for (const star of exports.stars) {
			const target = reader.resolutions(file)[star.request];
			const entity =
				target?.kind === "file"
					? inPair(target.file, (one) => throughStars(one, name, seen))
					: outsideOf(target);
			if (entity === undefined) continue;
			if (entity.kind !== "external" && entity.kind !== "unknown") return entity;
			outside ??= entity;
		}
		return outside;
	}

	function inPair(file: FileId, find: (file: FileId) => Entity | undefined): Entity | undefined {
		const other = pairs.other(file);
		return find(file) ?? (other === undefined ? undefined : find(other));
	}

	function exportedNames(file: FileId): ReadonlySet<string> {
		const names = new Set<string>();
		const files = new Set([file]);
		for (const one of files) {
			const { byName, stars } = ownExports(one);
			for (const name of byName.keys()) {
				if (one === file || (name !== "default" && name !== "=")) names.add(name);
			}
			for (const { request } of stars) {
				const target = reader.resolutions(one)[request];
				if (target?.kind === "file") files.add(target.file);
			}
		}
		return names;
	}

	function ofExport(file: FileId, own: NamedExport): Entity {
		if (own.kind === "local") return bound({ file, binding: own.binding });
		return imported(file, own.request, own.imported);
	}

	/** `import all from "./common.cjs"` gives the whole module, which has no `default`. */
	function wholeModule(file: FileId, name: string): Entity | undefined {
		if (name !== "default" && name !== "=") return undefined;
		const { byName } = ownExports(file);
		if (name === "default" && byName.has("=")) return exported(file, "=");
		const isCommonJs = /\.(?:c?jsx?|cts)$/.test(reader.files.get(file)?.path ?? "");
		if (name === "=" || (isCommonJs && byName.size > 0)) return { kind: "namespace", file };
		return undefined;
	}

	function partOfWhole(file: FileId, name: string): Entity | undefined {
		if (name === "=" || !ownExports(file).byName.has("=")) return undefined;
		const whole = exported(file, "=");
		return whole && memberOf(whole, name);
	}

	function imported(file: FileId, request: number, name: string): Entity {
		const target = reader.resolutions(file)[request];
		if (target?.kind !== "file") return outsideOf(target);
		if (name === "*") return { kind: "namespace", file: target.file };
		return exported(target.file, name) ?? UNKNOWN;
	}

	function bound(at: BindingRef): Entity {
		const binding = reader.bindings(at.file)[at.binding];
		if (!binding) return UNKNOWN;
		if (binding.kind === "declared") {
			return { kind: "declared", file: at.file, binding: at.binding };
		}
		return imported(at.file, binding.request, binding.imported);
	}

	return { exported, exportedHere, implementation, exportedNames, bound, ownExports };
}

function outsideOf(target: Resolution | undefined): Entity {
	return target?.kind === "external" ? { kind: "external", name: target.name } : UNKNOWN;
}

function sortExports(exports: readonly Export[]) {
	const byName = new Map<string, NamedExport>();
	for (const one of exports) {
		if (one.kind !== "star" && !byName.has(one.name)) byName.set(one.name, one);
	}
	const local = exports.filter((one) => one.kind === "local");
	const stars = exports.filter((one) => one.kind === "star");
	return { byName, stars, byBinding: Map.groupBy(local, ({ binding }) => binding) };
}

type ModulePairs = ReturnType<typeof findPairs>;

/**
 * A declaration file and its JavaScript (`index.d.ts`, `index.js`) are one module. As in
 * TypeScript, an import resolves to the declaration and loads the JavaScript.
 */
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

function kindsTo(pairs: ModulePairs, target: FileId, kinds: Edge["kinds"]): Edge["kinds"] {
	return pairs.implementation(target) === undefined ? kinds : ["type"];
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

function findPairs(reader: IndexReader) {
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
		other: (file: FileId) => implementations.get(file) ?? declarations.get(file),
		implementation: (file: FileId) => implementations.get(file),
	};
}

/** A `.d.ts` is hidden by TypeScript and describes JavaScript. A RegExp is five times slower. */
const BESIDE = [
	{ declaration: ".d.ts", sources: [".ts", ".tsx"], plain: [".js", ".jsx"] },
	{ declaration: ".d.mts", sources: [".mts"], plain: [".mjs"] },
	{ declaration: ".d.cts", sources: [".cts"], plain: [".cjs"] },
] as const;
