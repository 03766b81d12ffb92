import { byType, type OutlineRules } from "../by-name/outline.ts";
import { child, ofType } from "../tree-sitter/facts-draft.ts";

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
	},
	/^(?:namespace_declaration|file_scoped_namespace_declaration|declaration_list|enum_member_declaration_list|global_statement)$/,
);

export const rules: OutlineRules = {
	find(node) {
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
	docLine: /^\/\/\/ ?(?:<\/?summary>)?/,
	isPublic: (signature) => !/\b(?:private|internal)\b/.test(signature),
};
