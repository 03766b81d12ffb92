import type { Binding, EdgeKind, Export, Imported, ModuleRequest, Reference } from "./facts.ts";

/** Stable only while the index is open. */
export type FileId = number & { readonly fileId: unique symbol };

export interface IndexedFile {
	readonly id: FileId;
	/** Relative to the project's root, with forward slashes. */
	readonly path: string;
	readonly bytes: number;
	readonly lines: number;
	readonly isTest: boolean;
	readonly isModule: boolean;
	readonly problem?: string;
}

export type Resolution =
	| { readonly kind: "file"; readonly file: FileId }
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unresolved"; readonly reason: string };

export interface Edge {
	readonly file: FileId;
	readonly kinds: readonly EdgeKind[];
}

export interface BindingRef {
	readonly file: FileId;
	readonly binding: number;
}

export interface ImportOf extends BindingRef {
	readonly as: Imported;
	/** Whether the file also exports the import: `import { a } from` with `export { a }`. */
	readonly isExported: boolean;
}

/** One state of the index. A change creates a new reader, so a reader can be a cache key. */
export interface IndexReader {
	readonly files: ReadonlyMap<FileId, IndexedFile>;
	fileAt(path: string): IndexedFile | undefined;
	/** Cache key: the same object until a file or an edge changes. */
	readonly shape: object;

	bindings(file: FileId): readonly Binding[];
	exports(file: FileId): readonly Export[];
	references(at: BindingRef): readonly Reference[];
	/** {@link references} in one batch: a name may be imported by 5,000 files. */
	referencesOfAll(at: readonly BindingRef[]): readonly (readonly Reference[])[];
	looseAccesses(name: string): ReadonlyMap<FileId, number>;

	/** One per module request, in the same order. */
	resolutions(file: FileId): readonly Resolution[];
	requests(file: FileId): readonly ModuleRequest[];
	unresolved(): readonly { readonly file: FileId; readonly specifier: string }[];
	/** One edge per file. Kept in memory: ranking and cycle search walk the whole graph. */
	dependencies(file: FileId): readonly Edge[];
	dependents(file: FileId): readonly Edge[];

	/** `imported` is a name, `default`, `*` or `=`. */
	importsOf(file: FileId, imported: string): readonly ImportOf[];
	/** Re-exports from the file: `export { a } from`, `export * from`. */
	exportsFrom(file: FileId): readonly { readonly file: FileId; readonly export: Export }[];
	/** Top-level declarations that have this name, or a member of this name. */
	named(name: string): readonly (BindingRef & { readonly isMember: boolean })[];
	/** Case-insensitive. Order: equal names, prefix matches, shorter names, then by code unit. */
	namesLike(part: string, limit: number): readonly string[];
	accessing(name: string): readonly (BindingRef & { readonly reference: Reference })[];

	/** Full-text search, best first. Words are already split; the last part of each is a prefix. */
	matching(words: readonly string[], limit: number): readonly TextMatch[];
}

export interface TextMatch {
	readonly file: FileId;
	/** BM25 from SQLite: smaller is better. */
	readonly rank: number;
}

export type ReadText = (path: string) => string | undefined;
