import Type from "typebox";
import { EDGE_KINDS, SYMBOL_KINDS } from "../text/kinds.ts";
import { listOf, numberFields, oneOf } from "./field-schemas.ts";

const SymbolKind = oneOf(...SYMBOL_KINDS);

/** How far an answer can be trusted. */
export const CodeCoverage = Type.Object({
	files: Type.Number(),
	/** Files that were not parsed, or only in part. `paths` has the first few, sorted. */
	unparsed: Type.Object({ count: Type.Number(), paths: Type.Array(Type.String()) }),
	...numberFields("unresolvedImports", "checkedMs", "refreshedFiles"),
	/** False until the first indexing is finished. */
	complete: Type.Boolean(),
	/** Number of files whose references and texts are still being read. */
	pending: Type.Optional(Type.Number()),
	/** Number of symbolic links that are broken or point outside the project. */
	linksNotFollowed: Type.Optional(Type.Number()),
	/** Why the current index is only in memory; absent if it is stored. */
	notStored: Type.Optional(Type.Object({ reason: Type.String() })),
	leftOut: Type.Optional(
		Type.Object({
			count: Type.Number(),
			kinds: listOf({ what: Type.String(), count: Type.Number() }),
			first: listOf({ path: Type.String(), reason: Type.String() }),
		}),
	),
});

/** Asking for the status does not build the index. */
export const CodeStatus = Type.Object({
	/** `absent`: never built. `partial`: indexing was interrupted; the next question resumes it. */
	state: oneOf("absent", "partial", "ready"),
	/** Present only if `ready`. */
	coverage: Type.Optional(CodeCoverage),
});

export const CodeSymbol = Type.Object({
	name: Type.String(),
	owner: Type.Optional(Type.String()),
	kind: SymbolKind,
	...numberFields("line", "endLine"),
	startLine: Type.Optional(Type.Number()),
	exported: Type.Boolean(),
	signature: Type.String(),
	doc: Type.Optional(Type.String()),
});

export const CodeSearchAnswer = Type.Object({
	hits: listOf({
		path: Type.String(),
		isTest: Type.Boolean(),
		symbols: Type.Array(CodeSymbol),
		lines: listOf({
			first: Type.Number(),
			text: Type.Array(Type.String()),
			matches: Type.Array(Type.Number()),
		}),
		matchingLines: Type.Optional(Type.Number()),
	}),
	total: Type.Number(),
	atLeast: Type.Optional(Type.Literal(true)),
	coverage: CodeCoverage,
});

export const CodeFileAtDepth = Type.Object({
	path: Type.String(),
	depth: Type.Number(),
	kinds: Type.Array(oneOf(...EDGE_KINDS)),
	isTest: Type.Boolean(),
	via: Type.Optional(Type.String()),
});

export const CodeDepsAnswer = Type.Object({
	file: Type.String(),
	dependents: Type.Array(CodeFileAtDepth),
	dependencies: Type.Array(CodeFileAtDepth),
	cycles: Type.Array(Type.Array(Type.String())),
	unresolved: listOf({ specifier: Type.String(), line: Type.Number() }),
	external: Type.Array(Type.String()),
	coverage: CodeCoverage,
});

export const CodeUsagesAnswer = Type.Object({
	symbol: Type.String(),
	definitions: listOf({
		path: Type.String(),
		...numberFields("line", "column"),
		kind: SymbolKind,
		owner: Type.Optional(Type.String()),
		exported: Type.Boolean(),
		signature: Type.String(),
		usages: listOf({
			path: Type.String(),
			...numberFields("line", "column"),
			kind: Type.String(),
			isTest: Type.Boolean(),
		}),
		possible: Type.Optional(
			Type.Object({ count: Type.Number(), files: Type.Array(Type.String()) }),
		),
	}),
	omittedDefinitions: Type.Optional(Type.Number()),
	suggestions: Type.Optional(Type.Array(Type.String())),
	coverage: CodeCoverage,
});
