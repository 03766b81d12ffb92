import { byType, type Found, type OutlineRules } from "../by-name/outline.ts";
import { child, ofType } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

const find = byType(
	{
		class_declaration: "class",
		struct_declaration: "class",
		record_declaration: "class",
		record_struct_declaration: "class",
		interface_declaration: "interface",
		enum_declaration: "enum",
		enum_member_declaration: "property",
		delegate_declaration: "type",
		method_declaration: "function",
		constructor_declaration: "function",
		property_declaration: "variable",
		event_declaration: "variable",
		local_function_statement: "function",
		destructor_declaration: "function",
	},
	/^(?:namespace_declaration|file_scoped_namespace_declaration|declaration_list|enum_member_declaration_list|global_statement|preproc_(?:if|elif|else))$/,
);

export const rules: OutlineRules = {
	find(node, text) {
		switch (node.type) {
			case "record_declaration":
			case "record_struct_declaration": {
				const members = (ofType(node, "parameter_list")?.children ?? []).flatMap((part) => {
					const id = child(part, "name");
					return id ? [{ id, symbol: "property" as const, node: part, headEnd: part.end }] : [];
				});
				const found = find(node);
				return found === "through" ? found : found.map((one) => ({ ...one, members }));
			}
			case "indexer_declaration":
				return special(node, /\bthis\s*$/, text);
			case "operator_declaration":
			case "conversion_operator_declaration":
				return special(node, /\boperator\b[\s\S]*$/, text);
		}
		if (node.type !== "field_declaration" && node.type !== "event_field_declaration")
			return find(node);
		const variables = ofType(node, "variable_declaration")?.children ?? [];
		return variables.flatMap((part) => {
			const id =
				part.type === "variable_declarator" ? (child(part, "name") ?? part.children[0]) : undefined;
			return id ? [{ id, symbol: "property" as const, headEnd: id.end }] : [];
		});
	},
	imports(node, text) {
		if (node.type !== "using_directive") return [];
		const [, name = ""] =
			/^(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)/.exec(text(node)) ?? [];
		return name === "" ? [] : [{ specifier: name, node }];
	},
	names: /^identifier$/,
	docLine: /^\/\/\/ ?/,
	isPublic: (signature) => !/\b(?:private|internal)\b/.test(signature),
};

/** A member whose name is a keyword before its parameters: `this[int i]`, `operator +(…)`. */
function special(
	node: SyntaxNode,
	name: RegExp,
	text: (node: SyntaxNode) => string,
): readonly Found[] {
	const parameters = child(node, "parameters");
	if (!parameters) return [];
	const [found] = name.exec(text({ ...node, end: parameters.start })) ?? [];
	if (found === undefined) return [];
	const start = parameters.start - found.length;
	const id = { ...node, start, end: start + found.trimEnd().length };
	return [{ id, symbol: "function", headEnd: parameters.end }];
}
