import type { EdgeKind, SymbolKind, UsageKind } from "./facts.ts";

/** Which files an answer is based on, and which are missing from it. */
export interface Coverage {
	readonly files: number;
	/** By number of files. Absent if all of them are TypeScript and JavaScript. */
	readonly languages?: readonly LanguageCoverage[];
	/** Files that failed to parse, wholly or in part. `paths` holds the first few, sorted. */
	readonly unparsed: { readonly count: number; readonly paths: readonly string[] };
	readonly unresolvedImports: number;
	/** When files and index were last compared, in ms since 1970. */
	readonly checkedMs: number;
	readonly refreshedFiles: number;
	/** False until the first indexing completes: answers cover only the files indexed so far. */
	readonly complete: boolean;
	/**
	 * Set while references and texts of this many files are still being read, after a first indexing of
	 * declarations, imports and exports.
	 */
	readonly pending?: number;
	/** Not in the index: unreadable folders, names that are not UTF-8, oversized files and the like. */
	readonly leftOut?: {
		readonly count: number;
		readonly kinds: readonly { readonly what: string; readonly count: number }[];
		readonly first: readonly { readonly path: string; readonly reason: string }[];
	};
	readonly linksNotFollowed?: number;
	/** Set if the index could not be written to disk. It is then up to date in memory only. */
	readonly notStored?: { readonly place: string; readonly reason: string };
}

/** `types`: names by scope and import, members by written types. `names`: places of the same name. */
export interface LanguageCoverage {
	readonly name: string;
	readonly files: number;
	readonly usages: "types" | "names";
}

export interface Covered {
	readonly coverage: Coverage;
}

export type Uncovered<Answer extends Covered> = Omit<Answer, "coverage">;

/** The query and answer of every question. Worker, tools and commands derive from this table. */
export interface Questions {
	/** Files and symbols that match words. */
	readonly search: { query: SearchQuery; answer: SearchAnswer };
	/** The files that a file imports, and those that import it. */
	readonly dependencies: { query: DependenciesQuery; answer: DependenciesAnswer };
	/** Symbols of a file, or of one symbol, with their members and lines. */
	readonly outline: { query: OutlineQuery; answer: OutlineAnswer };
	/** The source of a symbol, and what it needs. */
	readonly symbol: { query: SymbolQuery; answer: SymbolAnswer };
	/** Every place that refers to a symbol. */
	readonly usages: { query: UsagesQuery; answer: UsagesAnswer };
	/** Files, symbols and tests that a change would affect. */
	readonly impact: { query: ImpactQuery; answer: ImpactAnswer };
	/** Dependencies, symbols, impacted files and tests of the files that a task is about. */
	readonly taskContext: { query: TaskContextQuery; answer: TaskContextAnswer };
	/** Exports of the highest-ranked files, within a budget of tokens. */
	readonly symbolMap: { query: SymbolMapQuery; answer: SymbolMapAnswer };
}

/** The name of a question, and of the index method that asks it. */
export type QuestionName = keyof Questions;
/** The query of one question. */
export type QueryOf<Name extends QuestionName> = Questions[Name]["query"];
/** The answer to one question. */
export type AnswerOf<Name extends QuestionName> = Questions[Name]["answer"];

export interface SearchQuery {
	readonly query: string;
	/** Default: both. */
	readonly scope?: readonly ("code" | "symbols")[];
	/** Default: 15. */
	readonly limit?: number;
	/** Context lines around each match. If absent, matching lines are not looked up. */
	readonly contextLines?: number;
	readonly glob?: string;
	readonly exclude?: readonly string[];
	/** `typescript`, `javascript`, or the name of another language. */
	readonly language?: string;
	readonly symbolKinds?: readonly SymbolKind[];
	readonly exportedOnly?: boolean;
	/** Default: true. Tests are listed last. */
	readonly includeTests?: boolean;
}

export interface SearchAnswer extends Covered {
	readonly hits: readonly SearchHit[];
	/** Number of matching files, shown or not. A lower bound if `atLeast` is set. */
	readonly total: number;
	readonly atLeast?: true;
	/** Set if no file contains the exact name. The hits contain only parts of it. */
	readonly inexact?: true;
	/** Documents and configuration files with the words, best first. Absent if there are none. */
	readonly documents?: readonly SearchHit[];
}

export interface SearchHit {
	readonly path: string;
	readonly isTest: boolean;
	readonly symbols: readonly SymbolBrief[];
	readonly lines: readonly MatchingLines[];
	readonly matchingLines?: number;
}

export interface MatchingLines {
	readonly first: number;
	readonly text: readonly string[];
	readonly matches: readonly number[];
}

export interface SymbolBrief {
	readonly name: string;
	readonly owner?: string;
	readonly kind: SymbolKind;
	readonly line: number;
	/** With decorators, attributes and what else stands before the name. Absent if it is `line`. */
	readonly startLine?: number;
	readonly endLine: number;
	readonly exported: boolean;
	readonly signature: string;
	readonly doc?: string;
}

/** A file, a symbol, or a symbol of that file. */
export interface OutlineQuery {
	readonly file?: string;
	/** A name, or `Owner.member`. */
	readonly symbol?: string;
}

export interface OutlineAnswer extends Covered {
	/** One for a file; one per definition of a symbol, most used first. */
	readonly outlines: readonly FileOutline[];
	readonly omittedDefinitions?: number;
	readonly suggestions?: readonly string[];
}

export interface FileOutline {
	readonly path: string;
	readonly isTest: boolean;
	readonly lines: number;
	/** Why the file, or a part of it, was not understood. */
	readonly problem?: string;
	readonly symbols: readonly OutlineSymbol[];
}

export interface OutlineSymbol extends SymbolBrief {
	readonly members?: readonly OutlineSymbol[];
}

export interface SymbolQuery {
	/** A name, or `Owner.member`. */
	readonly symbol: string;
	readonly file?: string;
}

export interface SymbolAnswer extends Covered {
	readonly symbol: string;
	/** Most used first. Only the first few have a text. */
	readonly definitions: readonly SymbolSource[];
	readonly omittedDefinitions?: number;
	readonly suggestions?: readonly string[];
}

export interface SymbolSource extends OutlineSymbol {
	readonly path: string;
	readonly isTest: boolean;
	/** From its comment and decorators on. Absent if the file is gone. */
	readonly source?: {
		readonly firstLine: number;
		readonly lines: readonly string[];
		/** Names that it imports, by specifier. */
		readonly imports: readonly { readonly from: string; readonly names: readonly string[] }[];
		/** Other top-level names of the file that it refers to. */
		readonly uses: readonly { readonly name: string; readonly line: number }[];
	};
}

export interface DependenciesQuery {
	readonly path: string;
	/** Default: both. */
	readonly direction?: "dependents" | "dependencies" | "both";
	/** Default: 1. */
	readonly depth?: number;
	/** Default: all. */
	readonly kinds?: readonly EdgeKind[];
	/** Default: true. */
	readonly includeTests?: boolean;
}

export interface DependenciesAnswer extends Covered {
	readonly file: string;
	readonly dependents: readonly FileAtDepth[];
	readonly dependencies: readonly FileAtDepth[];
	/** Import cycles with this or a listed file: strongly connected components of two or more files. */
	readonly cycles: readonly (readonly string[])[];
	readonly unresolved: readonly { readonly specifier: string; readonly line: number }[];
	readonly external: readonly string[];
	/** Set if the file's top-level names are global. Uses of them without an import are not followed. */
	readonly global?: true;
}

export interface FileAtDepth {
	readonly path: string;
	readonly depth: number;
	readonly kinds: readonly EdgeKind[];
	readonly isTest: boolean;
	readonly via?: string;
}

export interface UsagesQuery {
	/** A name, or `Owner.member`. */
	readonly symbol: string;
	readonly file?: string;
	/** Default: true. */
	readonly includeTests?: boolean;
}

export interface UsagesAnswer extends Covered {
	readonly symbol: string;
	readonly definitions: readonly Definition[];
	readonly omittedDefinitions?: number;
	readonly suggestions?: readonly string[];
	/** Set if a type checker was asked about members. With a problem, the index alone answers. */
	readonly checker?: { readonly problem?: string };
}

export interface Definition {
	readonly path: string;
	readonly line: number;
	readonly column: number;
	readonly kind: SymbolKind;
	readonly owner?: string;
	readonly exported: boolean;
	readonly signature: string;
	/** Sorted by path, line, column. Excludes the definition. */
	readonly usages: readonly Usage[];
	readonly global?: true;
	/** Of a member: the members that it implements or overrides, and those that implement or override it. */
	readonly family?: {
		readonly above: readonly FamilyMember[];
		readonly below: readonly FamilyMember[];
		/** Other members that implement one of `above`. Their own usages are not counted here. */
		readonly beside: number;
		/** Set if usages of `above` and `below` are not counted here, as in Python and Go. */
		readonly apart?: true;
	};
	/** Set where usages are all places of this name in the language: some may mean something else. */
	readonly byName?: true;
	/** Accesses of a member with this name on values of unknown type. They may be usages. */
	readonly possible?: {
		readonly count: number;
		readonly files: readonly string[];
		/** Accesses in each of `files`, in the same order. */
		readonly counts?: readonly number[];
	};
}

export interface FamilyMember {
	/** `Owner.member` */
	readonly name: string;
	readonly path: string;
	readonly line: number;
}

export interface Usage {
	readonly path: string;
	readonly line: number;
	readonly column: number;
	readonly kind: UsageKind;
	readonly isTest: boolean;
	/** The symbol around it: a name, or `Owner.member`. Absent at the top level, and in very long lists. */
	readonly within?: string;
}

export interface ImpactQuery {
	readonly modify?: readonly string[];
	readonly create?: readonly string[];
	readonly delete?: readonly string[];
	/** Limits the change to these exports of the modified files. */
	readonly symbols?: readonly string[];
}

export interface ImpactAnswer extends Covered {
	readonly risk: "low" | "medium" | "high";
	readonly summary: string;
	readonly affected: readonly FileAtDepth[];
	readonly symbols: readonly {
		readonly path: string;
		readonly name: string;
		readonly kind: SymbolKind;
		readonly usages: number;
		readonly files: number;
		/** Like `files`, but without the changed file and its declaration file. */
		readonly otherFiles: number;
	}[];
	readonly tests: readonly {
		readonly path: string;
		readonly depth: number;
		readonly via: "import" | "name";
	}[];
	/** About unknown paths, names not exported, global names, imports that will break, cycles. */
	readonly warnings: readonly string[];
}

export interface TaskContextQuery {
	readonly files: readonly string[];
	readonly includeTests?: boolean;
	readonly includeSymbols?: boolean;
	/** Default: 20. */
	readonly maxImpactedFiles?: number;
}

export interface TaskContextAnswer extends Covered {
	readonly targets: readonly {
		readonly path: string;
		readonly dependencies: readonly string[];
		readonly dependentCount: number;
		/** An outline, if symbols are asked for. */
		readonly symbols: readonly OutlineSymbol[];
	}[];
	readonly impacted: readonly FileAtDepth[];
	readonly impactedCount: number;
	readonly tests: readonly string[];
	readonly unknown: readonly string[];
}

export interface SymbolMapQuery {
	readonly budgetTokens: number;
	readonly exclude?: readonly string[];
}

export interface SymbolMapAnswer extends Covered {
	/** Sorted by path. Equal file contents always give equal text. */
	readonly blocks: readonly {
		readonly path: string;
		readonly text: string;
		readonly tokens: number;
		readonly references: number;
	}[];
	/** Files that did not fit. Once the budget is used up, remaining files count even without exports. */
	readonly omittedFiles: number;
}
