import { byType, type Import, type OutlineRules } from "../by-name/outline.ts";
import { child } from "../tree-sitter/facts-draft.ts";
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
	/^(?:namespace_definition|compound_statement|declaration_list|enum_declaration_list|if_statement)$/,
);

export const rules: OutlineRules = {
	find(node) {
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
