import type { Binding, EdgeKind, Export, Imported, Reference, Request } from "./facts.ts";

/** A file of the index. Ids are stable while the index is open, and not afterwards. */
export type FileId = number & { readonly fileId: unique symbol };

export interface IndexedFile {
	readonly id: FileId;
	/** Relative to the project's root, with forward slashes. */
	readonly path: string;
	readonly bytes: number;
	readonly lines: number;
	readonly isTest: boolean;
	readonly isModule: boolean;
	/** Why it is not, or not wholly, understood. */
	readonly problem?: string;
}

export type Resolution =
	| { readonly kind: "file"; readonly file: FileId }
	/** A package or a module of the runtime, not part of the project. */
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unresolved"; readonly reason: string };

export interface Edge {
	readonly file: FileId;
	readonly kinds: readonly EdgeKind[];
}

/** A binding by its place: the file and the index in its facts. */
export interface BindingRef {
	readonly file: FileId;
	readonly binding: number;
}

export interface ImportOf extends BindingRef {
	readonly as: Imported;
	/** Whether its file exports the binding in turn (`import { a } from` with `export { a }`). */
	readonly isExported: boolean;
}

/**
 * What linking and queries ask of a stored index. All calls answer at once, from the state of one moment. The
 * lookups backwards (`importsOf`, `exportsFrom`, `named`, `accessing`) are what makes queries quick. A reader is of
 * one state: when the index changes there is a new one, so that what is derived can be kept by its identity.
 */
export interface IndexReader {
	readonly files: ReadonlyMap<FileId, IndexedFile>;
	fileAt(path: string): IndexedFile | undefined;
	/** The same object as long as no file comes or goes and no edge changes: a key for what follows from the graph. */
	readonly shape: object;

	bindings(file: FileId): readonly Binding[];
	exports(file: FileId): readonly Export[];
	references(at: BindingRef): readonly Reference[];
	/** The same of many at once, in their order: a name that 5,000 files import is one trip to the store. */
	referencesOfAll(at: readonly BindingRef[]): readonly (readonly Reference[])[];
	/** How often the file accesses a property of this name on something of unknown type. */
	looseAccesses(name: string): ReadonlyMap<FileId, number>;

	/** Where each request of the file leads, by its index. */
	resolutions(file: FileId): readonly Resolution[];
	requests(file: FileId): readonly Request[];
	unresolved(): readonly { readonly file: FileId; readonly specifier: string }[];
	/** Files that this file asks for, each once. From memory: ranking and cycles walk the whole graph. */
	dependencies(file: FileId): readonly Edge[];
	/** Files that ask for this one, each once. From memory too. */
	dependents(file: FileId): readonly Edge[];

	/** Import bindings that ask `file` for `imported` (a name, `default`, `*` or `=`). */
	importsOf(file: FileId, imported: string): readonly ImportOf[];
	/** Exports of other files that pass names of `file` on: `export { a } from`, `export * from`. */
	exportsFrom(file: FileId): readonly { readonly file: FileId; readonly export: Export }[];
	/** Everything declared under a name at the top level of a file, or as a member of such a thing. */
	named(name: string): readonly (BindingRef & { readonly isMember: boolean })[];
	/** Names that contain `part` in any case: equal ones, then prefixes, then shorter ones, then by code unit. */
	namesLike(part: string, limit: number): readonly string[];
	/** References that have a step of this name. */
	accessing(name: string): readonly (BindingRef & { readonly reference: Reference })[];

	/** Full text: files that match, best first. The words are already split; the last part of each may go on. */
	matching(words: readonly string[], limit: number): readonly TextMatch[];
}

export interface TextMatch {
	readonly file: FileId;
	/** BM25 as SQLite gives it: smaller is better. */
	readonly rank: number;
}

/** The text of a file of the project, or undefined if it is gone. */
export type ReadText = (path: string) => string | undefined;
