import { getOrAdd } from "../../core/get-or-add.ts";
import type { Export } from "../facts.ts";
import type { BindingRef, Edge, FileId, IndexReader, Resolution } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { type PackageLookup, Packages } from "./packages.ts";

/** `external`: declared in a package. `unknown`: the declaration was not found. */
export type Entity =
	| DeclaredEntity
	| MemberEntity
	| { readonly kind: "namespace"; readonly file: FileId }
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unknown" };

export interface DeclaredEntity extends BindingRef {
	readonly kind: "declared";
}

/** `path` holds one index into `members` per nesting level, outermost first. */
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

type ExportTable = ReturnType<typeof sortExports>;

/** Follows exports through re-exports and CommonJS to their declarations. Memoizes final results. */
export abstract class ExportChains {
	readonly reader: IndexReader;
	protected readonly packages: PackageLookup;
	readonly #pairs: ModulePairs;
	readonly #own = new Map<FileId, ExportTable>();
	readonly #found = new Map<string, Entity | undefined>();
	/** Lookups in progress, to detect cycles: a barrel may re-export itself. */
	readonly #pending = new Set<string>();

	constructor(reader: IndexReader) {
		this.reader = reader;
		this.packages = packagesOf(reader);
		this.#pairs = pairsOf(reader);
	}

	/** In CommonJS, `import { a }` from a module with `module.exports = thing` gives `thing.a`. */
	protected abstract valueMember(entity: Entity, name: string): Entity | undefined;

	ownExports(file: FileId): ExportTable {
		// Fast path: a hit creates no closure.
		const known = this.#own.get(file);
		return known ?? getOrAdd(this.#own, file, () => tableOf(this.reader.exports(file)));
	}

	/** Searches both files of a pair. `name` may be `default`, or `=` for a whole CommonJS module. */
	resolveExport(file: FileId, name: string): Entity | undefined {
		const key = `${file} ${name}`;
		if (this.#found.has(key)) return this.#found.get(key);
		if (this.#pending.has(key)) return undefined;
		this.#pending.add(key);
		const entity = this.#inPair(file, (one) => this.resolveOwnExport(one, name));
		this.#pending.delete(key);
		// During another lookup, an uncertain result is not cached: the cycle guard may have cut it short.
		const isCertain = entity !== undefined && entity.kind !== "unknown";
		if (isCertain || this.#pending.size === 0) this.#found.set(key, entity);
		return entity;
	}

	/** Like `resolveExport`, but does not search the other file of a pair. */
	resolveOwnExport(file: FileId, name: string): Entity | undefined {
		return (
			this.#throughStars(file, name, new Set()) ??
			this.#wholeModule(file, name) ??
			this.#partOfWhole(file, name) ??
			this.#implicit(file, name)
		);
	}

	/** A submodule that the package's own imports have loaded. All other names take precedence. */
	#implicit(file: FileId, name: string): Entity | undefined {
		const binding = this.ownExports(file).implicit.get(name);
		return binding === undefined ? undefined : this.resolveBinding({ file, binding });
	}

	resolveBinding(at: BindingRef): Entity {
		const binding = this.reader.bindings(at.file)[at.binding];
		if (!binding) return UNKNOWN;
		if (binding.kind === "declared") {
			return { kind: "declared", file: at.file, binding: at.binding };
		}
		const entity = this.#resolveImport(at.file, binding.request, binding.imported);
		return isInProject(entity) ? entity : (this.#resolveFallback(at) ?? entity);
	}

	/** Whether a fallback stands for the binding before it, because that one does not resolve. */
	isFallbackUsed({ file, binding }: BindingRef): boolean {
		const before = this.reader.bindings(file)[binding - 1];
		if (before?.kind !== "imported") return false;
		const entity = this.#resolveImport(file, before.request, before.imported);
		if (!isInProject(entity)) return true;
		// The module may export the submodule under its own name.
		const fallback = this.#resolveFallback({ file, binding: binding - 1 });
		return fallback !== undefined && keyOf(fallback) === keyOf(entity);
	}

	#resolveFallback({ file, binding }: BindingRef): Entity | undefined {
		const next = this.reader.bindings(file)[binding + 1];
		if (next?.kind !== "imported" || !next.fallback) return undefined;
		return this.#resolveImport(file, next.request, next.imported);
	}

	exportedNames(file: FileId): ReadonlySet<string> {
		const names = new Set<string>();
		const files = new Set([file]);
		for (const one of files) {
			const { byName, stars } = this.ownExports(one);
			for (const name of byName.keys()) {
				if (one === file || (name !== "default" && name !== "=")) names.add(name);
			}
			for (const { request } of stars) {
				const target = this.reader.resolutions(one)[request];
				if (target?.kind === "file") files.add(target.file);
			}
		}
		return names;
	}

	/** The JavaScript symbol that a declaration in a paired `.d.ts` file describes. */
	protected implementationOf({ file, binding }: BindingRef): DeclaredEntity | undefined {
		const plain = this.#pairs.implementation(file);
		if (plain === undefined) return undefined;
		for (const { name } of this.ownExports(file).byBinding.get(binding) ?? []) {
			const entity = this.resolveOwnExport(plain, name);
			if (entity?.kind === "declared") return entity;
		}
		return undefined;
	}

	/** Searches own names, then each `export *` in order. As in TypeScript, the first match in the project wins. */
	#throughStars(file: FileId, name: string, seen: Set<FileId>): Entity | undefined {
		if (seen.has(file)) return undefined;
		seen.add(file);
		const exports = this.ownExports(file);
		const own = exports.byName.get(name);
		if (own?.kind === "local") return this.resolveBinding({ file, binding: own.binding });
		if (own) return this.#resolveImport(file, own.request, own.imported);
		if (name === "default" || name === "=") return undefined;
		let outside: Entity | undefined;
		for (const star of exports.stars) {
			const target = this.reader.resolutions(file)[star.request];
			const entity =
				target?.kind === "file"
					? this.#inPair(target.file, (one) => this.#throughStars(one, name, seen))
					: outsideOf(target);
			if (entity === undefined) continue;
			if (entity.kind !== "external" && entity.kind !== "unknown") return entity;
			outside ??= entity;
		}
		return outside;
	}

	/** Searches all files that form one module: both files of a pair, or all of a package. */
	#inPair(file: FileId, find: (file: FileId) => Entity | undefined): Entity | undefined {
		const own = find(file);
		if (own) return own;
		const other = this.#pairs.other(file);
		if (other !== undefined) return find(other);
		for (const one of this.packages.others(file)) {
			const found = find(one);
			if (found) return found;
		}
		return undefined;
	}

	/** `import all from "./common.cjs"` gives the whole module if that has no `default` export. */
	#wholeModule(file: FileId, name: string): Entity | undefined {
		if (name !== "default" && name !== "=") return undefined;
		const { byName } = this.ownExports(file);
		if (name === "default" && byName.has("=")) return this.resolveExport(file, "=");
		const isCommonJs = /\.(?:c?jsx?|cts)$/.test(this.reader.files.get(file)?.path ?? "");
		if (name === "=" || (isCommonJs && byName.size > 0)) return { kind: "namespace", file };
		return undefined;
	}

	#partOfWhole(file: FileId, name: string): Entity | undefined {
		if (name === "=" || !this.ownExports(file).byName.has("=")) return undefined;
		const whole = this.resolveExport(file, "=");
		return whole && this.valueMember(whole, name);
	}

	#resolveImport(file: FileId, request: number, name: string): Entity {
		const target = this.reader.resolutions(file)[request];
		if (target?.kind !== "file") return outsideOf(target);
		// A file's own package is that file's, even if another one in its folder can be imported.
		const module = target.file === file ? file : this.packages.entry(target.file);
		if (name === "*") return { kind: "namespace", file: module };
		return this.resolveExport(module, name) ?? UNKNOWN;
	}
}

function isInProject({ kind }: Entity): boolean {
	return kind !== "unknown" && kind !== "external";
}

function outsideOf(target: Resolution | undefined): Entity {
	return target?.kind === "external" ? { kind: "external", name: target.name } : UNKNOWN;
}

/** Of each file's exports, which stay the same object while they are cached. */
const tables = new WeakMap<readonly Export[], ExportTable>();

function tableOf(exports: readonly Export[]): ExportTable {
	return getOrAdd(tables, exports, () => sortExports(exports));
}

function sortExports(exports: readonly Export[]) {
	const byName = new Map<string, NamedExport>();
	const partials = new Map<string, number>();
	const implicit = new Map<string, number>();
	const local: (Export & { kind: "local" })[] = [];
	for (const one of exports) {
		if (one.kind === "star") continue;
		if (one.kind === "local" && one.name.startsWith("+")) {
			partials.set(one.name.slice(1), one.binding);
			continue;
		}
		if (one.kind === "local") local.push(one);
		if (one.kind === "local" && one.name.startsWith("/")) {
			implicit.set(one.name.slice(1), one.binding);
			continue;
		}
		if (!byName.has(one.name)) byName.set(one.name, one);
	}
	const stars = exports.filter((one) => one.kind === "star");
	/** `partials`: bindings with members of types that other files of the package declare, by name. */
	return {
		byName,
		stars,
		partials,
		implicit,
		byBinding: Map.groupBy(local, ({ binding }) => binding),
	};
}

type ModulePairs = ReturnType<typeof findPairs>;

/**
 * A declaration file and what it describes (`index.d.ts` and `index.js`, `a.pyi` and `a.py`) are a pair: one module. As in TypeScript,
 * an import resolves to the declaration and loads the JavaScript.
 */
export function pairsOf(reader: IndexReader): ModulePairs {
	const known = pairsByShape.get(reader.shape);
	return known ?? getOrAdd(pairsByShape, reader.shape, () => findPairs(reader));
}

const pairsByShape = new WeakMap<object, ModulePairs>();

/** Keyed by reader, since the name of a package is part of its files' content. */
export function packagesOf(reader: IndexReader): PackageLookup {
	return getOrAdd(packages, reader, () => {
		for (const { path } of reader.files.values()) {
			if (languageOf(path)?.hasPackages) return new Packages(reader);
		}
		return NO_PACKAGES;
	});
}

const packages = new WeakMap<IndexReader, PackageLookup>();
const NO_PACKAGES: PackageLookup = {
	isEmpty: true,
	others: () => [],
	entry: (file) => file,
	doors: () => [],
	compiled: (file) => [file],
};

/** One edge per file. Both files of a pair get one; the declaration file's kind is `type`. */
export function dependenciesOf(reader: IndexReader, file: FileId): readonly Edge[] {
	const pairs = pairsOf(reader);
	const packages = packagesOf(reader);
	const edges = reader.dependencies(file);
	if (!packages.isEmpty && languageOf(reader.files.get(file)?.path ?? "")?.hasPackages) {
		const siblings = packages.others(file).map((other) => ({ file: other, kinds: SAME_PACKAGE }));
		const imported = edges.flatMap(({ file: target, kinds }) =>
			packages.compiled(target).map((one) => ({ file: one, kinds })),
		);
		return merged([...imported, ...siblings]);
	}
	if (!edges.some((edge) => pairs.other(edge.file) !== undefined)) return edges;
	return merged(
		edges.flatMap((edge) => {
			const other = pairs.other(edge.file);
			const both = other === undefined ? [edge.file] : [edge.file, other];
			return both.map((target) => ({ file: target, kinds: kindsTo(pairs, target, edge.kinds) }));
		}),
	);
}

/** One edge per file. Includes importers of both files of a pair. */
export function dependentsOf(reader: IndexReader, file: FileId): readonly Edge[] {
	const pairs = pairsOf(reader);
	const packages = packagesOf(reader);
	const siblings = packages.isEmpty ? [] : packages.others(file);
	if (siblings.length > 0) {
		const isCompiled = packages.compiled(file).includes(file);
		const doors = isCompiled ? [file, ...siblings, ...packages.doors(file)] : [];
		const importers = doors.flatMap((one) => reader.dependents(one));
		return merged([...importers, ...siblings.map((one) => ({ file: one, kinds: SAME_PACKAGE }))]);
	}
	const other = pairs.other(file);
	if (other === undefined) return reader.dependents(file);
	return merged(
		[...reader.dependents(file), ...reader.dependents(other)].map((edge) => ({
			file: edge.file,
			kinds: kindsTo(pairs, file, edge.kinds),
		})),
	);
}

const SAME_PACKAGE = ["package"] as const;

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
		const extensions = PAIR_EXTENSIONS.find(({ declaration }) => path.endsWith(declaration));
		if (!extensions) continue;
		const { declaration, sources, plain } = extensions;
		const stem = path.slice(0, -declaration.length);
		// A TypeScript sibling takes precedence over the declaration file.
		if (sources.some((extension) => reader.fileAt(stem + extension))) continue;
		const implementation = plain.flatMap((extension) => reader.fileAt(stem + extension) ?? [])[0];
		if (!implementation) continue;
		implementations.set(id, implementation.id);
		declarations.set(implementation.id, id);
	}
	return {
		other: (file: FileId) => implementations.get(file) ?? declarations.get(file),
		implementation: (file: FileId) => implementations.get(file),
	};
}

/** `sources` hide a declaration file; otherwise it describes `plain`. A RegExp is five times slower. */
const PAIR_EXTENSIONS = [
	{ declaration: ".d.ts", sources: [".ts", ".tsx"], plain: [".js", ".jsx"] },
	{ declaration: ".d.mts", sources: [".mts"], plain: [".mjs"] },
	{ declaration: ".d.cts", sources: [".cts"], plain: [".cjs"] },
	{ declaration: ".pyi", sources: [], plain: [".py"] },
] as const;
