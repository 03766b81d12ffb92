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

const ATTRIBUTE = /^attribute_item$/;

export const rules: OutlineRules = {
	find(node) {
		if (node.type === "macro_definition") {
			const id = child(node, "name");
			return id ? [{ id, symbol: "function", headEnd: id.end }] : [];
		}
		const body = child(node, "body");
		if (body?.type === "ordered_field_declaration_list") {
			const found = find(node);
			return found === "through"
				? found
				: found.map(({ id, symbol }) => ({ id, symbol, headEnd: node.end }));
		}
		if (node.type !== "impl_item") return find(node);
		const owner = implemented(child(node, "type"));
		if (!owner || !body) return [];
		let attributes: number | undefined;
		return body.children.flatMap((part) => {
			if (ATTRIBUTE.test(part.type)) attributes ??= part.start;
			if (/attribute|comment/.test(part.type)) return [];
			const from = attributes ?? part.start;
			attributes = undefined;
			const found = find(part);
			if (found === "through") return [];
			const headEnd = child(part, "body")?.start ?? part.end;
			return found.map((one) => ({ ...one, owner, node: part, from, headEnd }));
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
	leading: ATTRIBUTE,
	docLine: /^\/\/[/!] ?/,
	isPublic: (signature) => /^pub\b/.test(signature),
};

/** The name of the type, or all of a type without a name such as `[u8]`: `Foo` in `impl<T> Trait for a::Foo<T>`. */
function implemented(type: SyntaxNode | undefined): SyntaxNode | undefined {
	if (type?.type === "type_identifier") return type;
	if (type?.type === "scoped_type_identifier") return child(type, "name");
	if (type?.type === "dynamic_type") return implemented(child(type, "trait"));
	if (!type || !/^(?:generic|reference|pointer)_type$/.test(type.type)) return type;
	const named = child(type, "type") ?? type.children.at(-1);
	return named && implemented(named);
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
