import { byType, type Found, type Import, type OutlineRules } from "../by-name/outline.ts";
import { child, ofType } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

const find = byType(
	{
		class_declaration: "class",
		interface_declaration: "interface",
		trait_declaration: "class",
		enum_declaration: "enum",
		enum_case: "property",
		function_definition: "function",
		method_declaration: "function",
	},
	/^(?:namespace_definition|compound_statement|declaration_list|enum_declaration_list|if_statement|colon_block|else_clause|else_if_clause)$/,
);

export const rules: OutlineRules = {
	find(node, text) {
		if (node.type === "method_declaration") return [...methods(node), ...promoted(node)];
		if (node.type === "expression_statement") return defined(node, text);
		if (node.type !== "property_declaration" && node.type !== "const_declaration")
			return find(node);
		return node.children.flatMap((part) => {
			const id =
				part.type === "property_element" ? child(part, "name")?.children[0] : part.children[0];
			const isElement = part.type === "property_element" || part.type === "const_element";
			return id && isElement ? [{ id, symbol: "variable" as const, headEnd: part.end }] : [];
		});
	},
	imports(node, text) {
		if (node.type === "namespace_use_declaration") return [...used(node, text)];
		if (!/^(?:require|include)(?:_once)?_expression$/.test(node.type)) return [];
		const [, path] = /(?:__DIR__\s*\.\s*)?["']([^"'$]+\.\w+)["']/.exec(text(node)) ?? [];
		return path === undefined
			? []
			: [{ specifier: `./${path.replace(/^\.?\//, "")}`, node, kind: "require" }];
	},
	names: /^name$/,
	isPublic: (signature) => !/^private\b/.test(signature),
};

/** `use A\{B, C}` is two names. Functions and constants are no files. */
function* used(node: SyntaxNode, text: (node: SyntaxNode) => string): Generator<Import> {
	const written = text(node).replace(/\s+/g, " ");
	if (/^use (?:function|const) /.test(written)) return;
	const [, prefix, list] = /^use \\?([\w\\]*?)\\?\{([^}]*)\}/.exec(written) ?? [];
	const names = list === undefined ? written.replace(/^use |;$/g, "") : list;
	for (const one of names.split(",")) {
		const name = one
			.replace(/ as .*$/, "")
			.trim()
			.replace(/^\\/, "");
		if (name === "" || !/^[\w\\]+$/.test(name)) continue;
		yield { specifier: prefix === undefined ? name : `${prefix}\\${name}`, node };
	}
}

function methods(node: SyntaxNode): readonly Found[] {
	const found = find(node);
	return found === "through" ? [] : found;
}

/** Parameters of a constructor that declare properties. */
function promoted(method: SyntaxNode): readonly Found[] {
	return (child(method, "parameters")?.children ?? []).flatMap((node) => {
		const name = node.type === "property_promotion_parameter" ? child(node, "name") : undefined;
		const id = name && (ofType(name, "name") ?? ofType(name.children[0] ?? name, "name"));
		return id ? [{ id, symbol: "variable" as const, node, headEnd: node.end }] : [];
	});
}

/** `define("NAME", …)` */
function defined(node: SyntaxNode, text: (node: SyntaxNode) => string): readonly Found[] {
	const call = ofType(node, "function_call_expression");
	const called = call && child(call, "function");
	if (!call || !called || text(called).toLowerCase() !== "define") return [];
	const string = child(call, "arguments")?.children[0]?.children[0];
	const id = string && ofType(string, "string_content");
	return id && /^\w+$/.test(text(id)) ? [{ id, symbol: "variable", headEnd: call.end }] : [];
}
