import type { EdgeKind, SymbolKind, UsageKind } from "../../codeindex/index.ts";

/** KotaDB's word for what a symbol is, in ours. One that we have none for counts as a variable. */
export function symbolKind(word: unknown): SymbolKind {
	return SYMBOL_KINDS.get(word) ?? "variable";
}

/** The words of KotaDB that mean one of our kinds. */
export function symbolWords(kinds: readonly SymbolKind[]): string[] {
	return [...SYMBOL_KINDS].filter(([, kind]) => kinds.includes(kind)).map(([word]) => String(word));
}

/** KotaDB's word for how a name is used, in ours. */
export function usageKind(word: unknown): UsageKind {
	return USAGE_KINDS.get(word) ?? "read";
}

/**
 * The words of KotaDB for edges of these kinds. It knows less than we do: an import may be of a value, of a type or of
 * neither, and `require` it does not see, so that the list can be empty.
 */
export function edgeWords(kinds: readonly EdgeKind[]): string[] {
	return [...new Set(kinds.flatMap((kind) => EDGE_WORDS[kind]))];
}

const SYMBOL_KINDS = new Map<unknown, SymbolKind>([
	["function", "function"],
	["class", "class"],
	["interface", "interface"],
	["type", "type"],
	["type_alias", "type"],
	["enum", "enum"],
	["variable", "variable"],
	["constant", "variable"],
	["namespace", "namespace"],
	["module", "namespace"],
	["method", "method"],
	["property", "property"],
	["enum_member", "property"],
]);

const USAGE_KINDS = new Map<unknown, UsageKind>([
	["call", "call"],
	["new", "new"],
	["extends", "extends"],
	["implements", "implements"],
	["jsx", "jsx"],
	["type", "type"],
	["type_reference", "type"],
	["import", "import"],
	["dynamic_import", "import"],
	["re_export", "re-export"],
	["export_all", "re-export"],
	["assignment", "write"],
	["definition", "declaration"],
]);

const EDGE_WORDS: Record<EdgeKind, readonly string[]> = {
	value: ["import"],
	type: ["import"],
	"side-effect": ["import"],
	"re-export": ["re_export", "export_all"],
	dynamic: ["dynamic_import"],
	require: [],
};
