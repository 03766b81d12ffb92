export type * from "./answers.ts";
export type {
	BuildOptions,
	BuildReport,
	CallOptions,
	CodeIndex,
	IndexProgress,
	IndexQueries,
	IndexStatus,
} from "./code-index.ts";
export { CodeIndexError } from "./code-index.ts";
export type { EdgeKind, SymbolKind, UsageKind } from "./facts.ts";
export {
	CODE_INDEX_STORE,
	codeIndexFolder,
	deleteCodeIndex,
	openCodeIndex,
} from "./open.ts";
