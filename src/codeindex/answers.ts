import type { EdgeKind, SymbolKind, UsageKind } from "./facts.ts";

/** How far an answer can be trusted. Every answer carries one. */
export interface Coverage {
	readonly files: number;
	/** Files that the parser did not, or not wholly, understand; the first few by path. */
	readonly unparsed: { readonly count: number; readonly paths: readonly string[] };
	readonly unresolvedImports: number;
	/** When the tree was last compared with the index (ms since 1970). */
	readonly checkedMs: number;
	/** What the check found changed and has taken in. */
	readonly refreshedFiles: number;
	/** False while the first indexing is not finished: the answer covers only what is there. */
	readonly complete: boolean;
	/** Unreadable folders, names that are not UTF-8, files that are too large and the like; if any. */
	readonly leftOut?: {
		readonly count: number;
		readonly kinds: readonly { readonly what: string; readonly count: number }[];
		readonly first: readonly { readonly path: string; readonly reason: string }[];
	};
	/** Links that are broken or lead out of the project, which are not followed; if any. */
	readonly linksNotFollowed?: number;
	/** The index is up to date in memory only: it could not be written where it belongs, and why. */
	readonly notStored?: { readonly place: string; readonly reason: string };
}

export interface Covered {
	readonly coverage: Coverage;
}

/** An answer as the queries give it; the service adds the coverage. */
export type Uncovered<Answer extends Covered> = Omit<Answer, "coverage">;

/** Every question that the index answers. Worker, engines, tools and commands derive from this table. */
export interface Questions {
	search: { query: SearchQuery; answer: SearchAnswer };
	dependencies: { query: DependenciesQuery; answer: DependenciesAnswer };
	usages: { query: UsagesQuery; answer: UsagesAnswer };
	impact: { query: ImpactQuery; answer: ImpactAnswer };
	taskContext: { query: TaskContextQuery; answer: TaskContextAnswer };
	symbolMap: { query: SymbolMapQuery; answer: SymbolMapAnswer };
}

export type QuestionName = keyof Questions;
export type QueryOf<Name extends QuestionName> = Questions[Name]["query"];
export type AnswerOf<Name extends QuestionName> = Questions[Name]["answer"];

export interface SearchQuery {
	readonly query: string;
	/** Default: both. */
	readonly scope?: readonly ("code" | "symbols")[];
	/** Default: 15. */
	readonly limit?: number;
	/** Lines around each match; matching lines are only looked up if this is given. */
	readonly contextLines?: number;
	readonly glob?: string;
	readonly exclude?: readonly string[];
	readonly language?: "typescript" | "javascript";
	readonly symbolKinds?: readonly SymbolKind[];
	readonly exportedOnly?: boolean;
	/** Default: true; tests come last. */
	readonly includeTests?: boolean;
}

export interface SearchAnswer extends Covered {
	readonly hits: readonly SearchHit[];
	/** How many files match, shown or not; `atLeast` where counting stopped. */
	readonly total: number;
	readonly atLeast?: true;
	/** One name was asked for and no file has it: these have parts of it. */
	readonly inexact?: true;
}

export interface SearchHit {
	readonly path: string;
	readonly isTest: boolean;
	readonly symbols: readonly SymbolBrief[];
	readonly lines: readonly MatchingLines[];
	readonly matchingLines?: number;
}

export interface MatchingLines {
	/** The number of the first line of `text`, from 1. */
	readonly first: number;
	readonly text: readonly string[];
	readonly matches: readonly number[];
}

export interface SymbolBrief {
	readonly name: string;
	/** The class, object or namespace it is a member of. */
	readonly owner?: string;
	readonly kind: SymbolKind;
	readonly line: number;
	readonly endLine: number;
	readonly exported: boolean;
	readonly signature: string;
	readonly doc?: string;
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
	/** The strongly connected component that the file is part of, if it is more than the file; and those nearby. */
	readonly cycles: readonly (readonly string[])[];
	readonly unresolved: readonly { readonly specifier: string; readonly line: number }[];
	readonly external: readonly string[];
	/** Its top level is global: other files can use it without importing it, and that is not followed. */
	readonly global?: true;
}

export interface FileAtDepth {
	readonly path: string;
	readonly depth: number;
	readonly kinds: readonly EdgeKind[];
	readonly isTest: boolean;
	/** From the second step on: the file of the step before. */
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
	/** How many more there are, if the name is that of very many things. */
	readonly omittedDefinitions?: number;
	readonly suggestions?: readonly string[];
}

export interface Definition {
	readonly path: string;
	readonly line: number;
	readonly column: number;
	readonly kind: SymbolKind;
	readonly owner?: string;
	readonly exported: boolean;
	readonly signature: string;
	/** Sorted by path, line, column; the definition itself is not among them. */
	readonly usages: readonly Usage[];
	/** The top level of its file is global: uses in other files are not followed. */
	readonly global?: true;
	/** Of a member: accesses of that name on something of unknown type, which may or may not be it. */
	readonly possible?: { readonly count: number; readonly files: readonly string[] };
}

export interface Usage {
	readonly path: string;
	readonly line: number;
	readonly column: number;
	readonly kind: UsageKind;
	readonly isTest: boolean;
}

export interface ImpactQuery {
	readonly modify?: readonly string[];
	readonly create?: readonly string[];
	readonly delete?: readonly string[];
	/** Only these exported names of the modified files change. */
	readonly symbols?: readonly string[];
}

export interface ImpactAnswer extends Covered {
	readonly risk: "low" | "medium" | "high";
	/** One or two sentences: what is reached, and why the risk is what it is. */
	readonly summary: string;
	readonly affected: readonly FileAtDepth[];
	/** Exports of the changed files with all their uses, counted as in a {@link UsagesAnswer}. */
	readonly symbols: readonly {
		readonly path: string;
		readonly name: string;
		readonly kind: SymbolKind;
		readonly usages: number;
		readonly files: number;
		/** How many of those are not the changed file itself, nor its declaration file. */
		readonly otherFiles: number;
	}[];
	readonly tests: readonly {
		readonly path: string;
		readonly depth: number;
		readonly via: "import" | "name";
	}[];
	/** Paths that were named and are not in the index, names that are not exported, global names, imports that will break, cycles. */
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
		readonly symbols: readonly SymbolBrief[];
	}[];
	/** Dependents of the targets, most important first. */
	readonly impacted: readonly FileAtDepth[];
	readonly impactedCount: number;
	readonly tests: readonly string[];
	/** Paths that were named and are not in the index. */
	readonly unknown: readonly string[];
}

export interface SymbolMapQuery {
	readonly budgetTokens: number;
	/** Files to leave out, such as those whose whole text is in view. */
	readonly exclude?: readonly string[];
}

export interface SymbolMapAnswer extends Covered {
	/** By path. Equal content gives equal text. */
	readonly blocks: readonly {
		readonly path: string;
		readonly text: string;
		readonly tokens: number;
		/** How many other files use something of it. */
		readonly references: number;
	}[];
	/** Those that did not fit; which of them export something is not looked up once the budget is used up. */
	readonly omittedFiles: number;
}
