import { byType, type Import, type OutlineRules } from "../by-name/outline.ts";
import { child } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

const find = byType(
	{
		function_item: "function",
		function_signature_item: "function",
		struct_item: "class",
		union_item: "class",
		enum_item: "enum",
		enum_variant: "property",
		trait_item: "interface",
		type_item: "type",
		associated_type: "type",
		const_item: "variable",
		static_item: "variable",
		mod_item: "namespace",
		macro_definition: "function",
		field_declaration: "property",
	},
	/^(?:declaration_list|field_declaration_list|enum_variant_list|extern_block|foreign_mod_item)$/,
);

export const rules: OutlineRules = {
	find(node) {
		if (node.type !== "impl_item") return find(node);
		const owner = implemented(child(node, "type"));
		const body = child(node, "body");
		if (!owner || !body) return [];
		return body.children.flatMap((part) => {
			const found = find(part);
			return found === "through"
				? []
				: found.map((one) => ({
						...one,
						owner,
						node: part,
						headEnd: child(part, "body")?.start ?? part.end,
					}));
		});
	},
	imports(node, text) {
		if (node.type === "mod_item" && !child(node, "body")) {
			const id = child(node, "name");
			return id ? [{ specifier: `mod ${text(id)}`, node: id }] : [];
		}
		const argument = node.type === "use_declaration" ? child(node, "argument") : undefined;
		return argument ? [...paths(argument, "", text)] : [];
	},
	names: /^(?:type_|field_)?identifier$/,
	docLine: /^\/\/[/!] ?/,
	isPublic: (signature) => /^pub\b/.test(signature),
};

/** The name of the type: `Foo` in `impl<T> Trait for a::Foo<T>`. */
function implemented(type: SyntaxNode | undefined): SyntaxNode | undefined {
	if (type?.type === "type_identifier") return type;
	if (type?.type === "scoped_type_identifier") return child(type, "name");
	const inner = type && (child(type, "type") ?? type.children[0]);
	return inner && implemented(inner);
}

/** `use a::{b, c::d}` is two paths. */
function* paths(
	node: SyntaxNode,
	before: string,
	text: (node: SyntaxNode) => string,
): Generator<Import> {
	const joined = (path: string) => (before === "" ? path : `${before}::${path}`);
	switch (node.type) {
		case "use_list":
			for (const one of node.children) yield* paths(one, before, text);
			return;
		case "scoped_use_list": {
			const path = child(node, "path");
			const list = child(node, "list");
			if (list) yield* paths(list, path ? joined(text(path)) : before, text);
			return;
		}
		case "use_as_clause": {
			const path = child(node, "path");
			if (path) yield* paths(path, before, text);
			return;
		}
		case "use_wildcard": {
			const [path] = node.children;
			if (path) yield { specifier: joined(text(path)), node };
			return;
		}
		case "identifier":
		case "scoped_identifier":
		case "self":
		case "crate":
		case "super":
			yield { specifier: joined(text(node)).replace(/\s+/g, ""), node };
	}
}
