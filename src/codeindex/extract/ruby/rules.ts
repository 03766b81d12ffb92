import type { Found, OutlineRules } from "../by-name/outline.ts";
import { child, ofType } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

const SYMBOLS = {
	class: "class",
	module: "namespace",
	method: "function",
	singleton_method: "function",
} as const;

export const rules: OutlineRules = {
	find(node, text) {
		const symbol = SYMBOLS[node.type as keyof typeof SYMBOLS];
		const name = symbol && child(node, "name");
		if (name) {
			const id = name.type === "scope_resolution" ? (child(name, "name") ?? name) : name;
			if (symbol === "function") return [{ id, symbol, headEnd: headEnd(node, id) }];
			return [{ id, symbol, body: ofType(node, "body_statement"), headEnd: headEnd(node, name) }];
		}
		if (node.type === "assignment") {
			const left = child(node, "left");
			const id = left?.type === "constant" ? left : undefined;
			return id ? [{ id, symbol: "variable", headEnd: Math.min(node.end, id.end + 60) }] : [];
		}
		if (node.type === "call") return attributes(node, text);
		return /^(?:body_statement|singleton_class|begin)$/.test(node.type) ? "through" : [];
	},
	imports(node, text) {
		if (node.type !== "call") return [];
		const method = child(node, "method");
		const called = method ? text(method) : "";
		if (!/^(?:require|require_relative|load|autoload)$/.test(called)) return [];
		const [, path] = /["']([^"'#]+)["']/.exec(text(node)) ?? [];
		if (path === undefined) return [];
		return [
			{ specifier: called === "require_relative" ? `./${path}` : path, node, kind: "require" },
		];
	},
	names: /^(?:identifier|constant)$/,
	docLine: /^# ?/,
};

/** After parameters and parent class. */
function headEnd(node: SyntaxNode, name: SyntaxNode): number {
	return (child(node, "parameters") ?? child(node, "superclass") ?? name).end;
}

/** `attr_reader :name` declares a member. */
function attributes(node: SyntaxNode, text: (node: SyntaxNode) => string): readonly Found[] {
	const method = child(node, "method");
	if (!method || !/^attr_(?:reader|writer|accessor)$/.test(text(method))) return [];
	const names = child(node, "arguments")?.children ?? [];
	return names.flatMap((one) => {
		if (one.type !== "simple_symbol") return [];
		const id = { ...one, start: one.start + 1 };
		return [{ id, symbol: "variable" as const, headEnd: one.end }];
	});
}
