import type { EdgeKind, FileFacts } from "./facts.ts";
import type { ResolverOptions } from "./resolve/resolver.ts";
import type { ModuleResolution } from "./resolve/specifier.ts";

/** How much of a file is read. A skeleton lacks references and words of the text. */
export type Extent = "skeleton" | "whole";

/** Pure. Syntax errors do not throw, but set `broken`. May read more than `extent` asks for. */
export type Extract = (path: string, source: string, extent?: Extent) => FileFacts;

/** Finds the files that a language's module requests lead to. */
export interface RequestResolver {
	resolve(from: string, specifier: string, kinds: readonly EdgeKind[]): ModuleResolution;
	/** Configuration files outside the scan that were looked for, even if missing. */
	readonly lookedFor?: ReadonlySet<string>;
}

export type CreateResolver = (project: ResolverOptions) => RequestResolver;

/** The specifier of a request that leads nowhere. Names that are bound to nothing are recorded as steps on it. */
export const BY_NAME = "by name";

/** A grammar's file, and the development package that provides it. */
export interface GrammarFile {
	readonly package: string;
	readonly file: string;
}

/** A row of the registry (`languages.ts`). It is light: extractor and resolver are loaded when needed. */
export interface Language {
	/** In lower case, as in answers. */
	readonly name: string;
	/** The grammar that the extractor needs, for the package: `npm run grammars` copies it. */
	readonly grammar?: GrammarFile;
	/** File endings, in lower case, with the dot. */
	readonly endings: readonly string[];
	/** Names of files that affect how imports resolve. */
	readonly configs?: readonly string[];
	/** Matches names of test files. Folders such as `tests` count in every language. */
	readonly testName?: RegExp;
	/**
	 * `types`: usages by scope and import, members where a type is written down. `names`: usages are the
	 * places of the same name.
	 */
	readonly usages: "types" | "names";
	/** Languages that use each other's symbols by name. Default: the language itself. */
	readonly family?: string;
	/** Whether members belong to a type as well as to its values, so that both can name them. */
	readonly isSideless?: true;
	/**
	 * Whether usages of a member are also those of members that it overrides or that override it, as in TypeScript's own
	 * answers. Default: those are named only.
	 */
	readonly countsRelatives?: true;
	/** Whether the files of a folder form one module, as far as their first requests are equal. */
	readonly hasPackages?: true;
	/** Whether other modules may use a name. Default: if it is exported. */
	isPublic?(name: string): boolean;
	loadExtract(): Promise<Extract>;
	loadResolver(): Promise<CreateResolver>;
}
