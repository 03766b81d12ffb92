import Type from "typebox";
import { edgeKinds, symbolKinds } from "../text/kinds.ts";
import { oneOf } from "./field-schemas.ts";

const SymbolKind = oneOf(...symbolKinds);

/** How far an answer about code can be trusted. */
export const CodeCoverage = Type.Object({
	files: Type.Number(),
	/** Files that the parser did not, or not wholly, understand; the first few by path. */
	unparsed: Type.Object({ count: Type.Number(), paths: Type.Array(Type.String()) }),
	unresolvedImports: Type.Number(),
	checkedMs: Type.Number(),
	refreshedFiles: Type.Number(),
	/** False while the first indexing is not finished. */
	complete: Type.Boolean(),
	/** Links that are broken or lead out of the project. */
	linksNotFollowed: Type.Optional(Type.Number()),
	/** The index is up to date in the memory of the server only, and why. */
	notStored: Type.Optional(Type.Object({ reason: Type.String() })),
	leftOut: Type.Optional(
		Type.Object({
			count: Type.Number(),
			kinds: Type.Array(Type.Object({ what: Type.String(), count: Type.Number() })),
			first: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
		}),
	),
});

/** How the index of a project is, which is not made for this question. */
export const CodeStatus = Type.Object({
	/** `absent`: never made. `partial`: the first indexing was interrupted; the next question goes on with it. */
	state: oneOf("absent", "partial", "ready"),
	/** Of an index that is ready. */
	coverage: Type.Optional(CodeCoverage),
});

/** A declared name. */
export const CodeSymbol = Type.Object({
	name: Type.String(),
	owner: Type.Optional(Type.String()),
	kind: SymbolKind,
	line: Type.Number(),
	endLine: Type.Number(),
	exported: Type.Boolean(),
	signature: Type.String(),
	doc: Type.Optional(Type.String()),
});

/** Files that match a search. */
export const CodeSearchAnswer = Type.Object({
	hits: Type.Array(
		Type.Object({
			path: Type.String(),
			isTest: Type.Boolean(),
			symbols: Type.Array(CodeSymbol),
			lines: Type.Array(
				Type.Object({
					first: Type.Number(),
					text: Type.Array(Type.String()),
					matches: Type.Array(Type.Number()),
				}),
			),
			matchingLines: Type.Optional(Type.Number()),
		}),
	),
	total: Type.Number(),
	atLeast: Type.Optional(Type.Literal(true)),
	coverage: CodeCoverage,
});

/** A file some steps away from another. */
export const CodeFileAtDepth = Type.Object({
	path: Type.String(),
	depth: Type.Number(),
	kinds: Type.Array(oneOf(...edgeKinds)),
	isTest: Type.Boolean(),
	via: Type.Optional(Type.String()),
});

/** What a file needs and what needs it. */
export const CodeDepsAnswer = Type.Object({
	file: Type.String(),
	dependents: Type.Array(CodeFileAtDepth),
	dependencies: Type.Array(CodeFileAtDepth),
	cycles: Type.Array(Type.Array(Type.String())),
	unresolved: Type.Array(Type.Object({ specifier: Type.String(), line: Type.Number() })),
	external: Type.Array(Type.String()),
	coverage: CodeCoverage,
});

/** Where a name is defined and used. */
export const CodeUsagesAnswer = Type.Object({
	symbol: Type.String(),
	definitions: Type.Array(
		Type.Object({
			path: Type.String(),
			line: Type.Number(),
			column: Type.Number(),
			kind: SymbolKind,
			owner: Type.Optional(Type.String()),
			exported: Type.Boolean(),
			signature: Type.String(),
			usages: Type.Array(
				Type.Object({
					path: Type.String(),
					line: Type.Number(),
					column: Type.Number(),
					kind: Type.String(),
					isTest: Type.Boolean(),
				}),
			),
			possible: Type.Optional(
				Type.Object({ count: Type.Number(), files: Type.Array(Type.String()) }),
			),
		}),
	),
	omittedDefinitions: Type.Optional(Type.Number()),
	suggestions: Type.Optional(Type.Array(Type.String())),
	coverage: CodeCoverage,
});
