/** The index stores the positions: append only. */
export const symbolKinds = [
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
export type SymbolKind = (typeof symbolKinds)[number];

/** The index stores the positions as bits: append only. */
export const edgeKinds = [
	"value",
	"type",
	"re-export",
	"dynamic",
	"require",
	"side-effect",
] as const;
export type EdgeKind = (typeof edgeKinds)[number];

/** The index stores the positions: append only, at most 16. */
export const usageKinds = [
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
export type UsageKind = (typeof usageKinds)[number];

/**
 * Parts of the model's window in prompt order. `stub`: a short text in place of removed content.
 */
export const contextKinds = [
	"system",
	"tools",
	"map",
	"file",
	"read",
	"tool",
	"conversation",
	"stub",
] as const;
export type ContextKind = (typeof contextKinds)[number];
