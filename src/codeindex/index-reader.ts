import type { Binding, EdgeKind, Export, Imported, ModuleRequest, Reference } from "./facts.ts";

/** An id is stable only while the index is open. */
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
	/** Set while its references and the words of its text are not stored yet. */
	readonly isSkeleton?: true;
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
	/** Whether the file also exports the imported name: `import { a } from` and `export { a }`. */
	readonly isExported: boolean;
}

/** One state of the index. Every change creates a new reader, so a reader can be a cache key. */
export interface IndexReader {
	readonly files: ReadonlyMap<FileId, IndexedFile>;
	fileAt(path: string): IndexedFile | undefined;
	/** A cache key: the same object until files are added or removed, or edges change. */
	readonly shape: object;

	bindings(file: FileId): readonly Binding[];
	exports(file: FileId): readonly Export[];
	references(at: BindingRef): readonly Reference[];
	/** Like {@link references}, but in one batch: a name may be imported by 5,000 files. */
	referencesOfAll(at: readonly BindingRef[]): readonly (readonly Reference[])[];
	looseAccesses(name: string): ReadonlyMap<FileId, number>;

	/** One resolution per module request, in the order of `requests`. */
	resolutions(file: FileId): readonly Resolution[];
	requests(file: FileId): readonly ModuleRequest[];
	unresolved(): readonly { readonly file: FileId; readonly specifier: string }[];
	/** One edge per file. In memory, since ranking and cycle search walk the whole graph. */
	dependencies(file: FileId): readonly Edge[];
	dependents(file: FileId): readonly Edge[];

	/** `imported` is a name, `default`, `*` (namespace) or `=` (whole CommonJS module). */
	importsOf(file: FileId, imported: string): readonly ImportOf[];
	/** Exports of other files that re-export from this file: `export { a } from`, `export * from`. */
	exportsFrom(file: FileId): readonly { readonly file: FileId; readonly export: Export }[];
	/** Top-level declarations with this name, or with a member of this name. */
	named(name: string): readonly (BindingRef & { readonly isMember: boolean })[];
	/** Ignores case. Order: equal names, names with this prefix, others; each by length, then code unit. */
	namesLike(part: string, limit: number): readonly string[];
	accessing(name: string): readonly (BindingRef & { readonly reference: Reference })[];

	/** Full-text search, best first. Spaces separate the parts of a word; the last part may be a prefix. */
	matching(words: readonly string[], limit: number): readonly TextMatch[];
	/** Files whose path or symbols have the stem; see `stemsOf`. */
	declaring(stem: string): readonly FileId[];
}

export interface TextMatch {
	readonly file: FileId;
	/** SQLite's BM25 score. Smaller is better. */
	readonly rank: number;
}

export type ReadText = (path: string) => string | undefined;
