import { byType, type OutlineRules } from "../by-name/outline.ts";
import { child, ofType } from "../tree-sitter/facts-draft.ts";

const find = byType(
	{
		class_declaration: "class",
		interface_declaration: "interface",
		annotation_type_declaration: "interface",
		enum_declaration: "enum",
		record_declaration: "class",
		method_declaration: "function",
		constructor_declaration: "function",
		compact_constructor_declaration: "function",
		annotation_type_element_declaration: "function",
		enum_constant: "property",
	},
	/^(?:class_body|interface_body|enum_body|enum_body_declarations|annotation_type_body)$/,
);

export const rules: OutlineRules = {
	find(node) {
		if (node.type === "record_declaration") {
			const components = child(node, "parameters")?.children ?? [];
			const members = components.flatMap((part) => {
				const id = child(part, "name") ?? ofType(part, "variable_declarator")?.children[0];
				return id ? [{ id, symbol: "property" as const, node: part, headEnd: part.end }] : [];
			});
			const found = find(node);
			return found === "through" ? found : found.map((one) => ({ ...one, members }));
		}
		if (node.type !== "field_declaration" && node.type !== "constant_declaration")
			return find(node);
		return node.children.flatMap((part) => {
			const id = part.field === "declarator" ? child(part, "name") : undefined;
			return id ? [{ id, symbol: "property" as const, headEnd: id.end }] : [];
		});
	},
	imports(node, text) {
		if (node.type !== "import_declaration") return [];
		const written = text(node).replace(/\s+/g, " ");
		const [, isStatic, path = ""] = /^import (static )?([\w.* ]+);?/.exec(written) ?? [];
		const name = path.replaceAll(" ", "");
		return name === "" ? [] : [{ specifier: isStatic ? `static ${name}` : name, node }];
	},
	names: /^(?:type_)?identifier$/,
	isPublic: (signature) => !/\bprivate\b/.test(signature),
};
