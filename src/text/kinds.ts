/** What a declared name stands for. The index stores the positions: append only. */
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

/** How a module is asked for. The index stores the positions as bits: append only. */
export const edgeKinds = [
	"value",
	"type",
	"re-export",
	"dynamic",
	"require",
	"side-effect",
] as const;
export type EdgeKind = (typeof edgeKinds)[number];

/** How a name is used. The index stores the positions: append only, at most 16. */
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
 * What a piece of the model's window is, in the order of a prompt. `stub`: a few words in place of something longer that
 * was taken out.
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
