/** The index stores positions in this list, so only append to it. */
export const SYMBOL_KINDS = [
	"function",
	"class",
	"interface",
	"type",
	"enum",
	"variable",
	"namespace",
	"method",
	"property",
] as const;
export type SymbolKind = (typeof SYMBOL_KINDS)[number];

/** The index stores positions in this list as bits, so only append to it. */
export const EDGE_KINDS = [
	"value",
	"type",
	"re-export",
	"dynamic",
	"require",
	"side-effect",
	"package",
] as const;
export type EdgeKind = (typeof EDGE_KINDS)[number];

/** The index stores positions in this list, so only append to it. At most 16 kinds. */
export const USAGE_KINDS = [
	"call",
	"new",
	"extends",
	"implements",
	"jsx",
	"type",
	"read",
	"write",
	"import",
	"re-export",
	"declaration",
] as const;
export type UsageKind = (typeof USAGE_KINDS)[number];

/** Parts of the model's window in prompt order. */
export const CONTEXT_KINDS = [
	"system",
	"tools",
	"map",
	"file",
	"read",
	"tool",
	"conversation",
	"stub",
] as const;
