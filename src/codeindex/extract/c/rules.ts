import type { Found, OutlineRules } from "../by-name/outline.ts";
import { child } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

const TYPES = {
	struct_specifier: "class",
	union_specifier: "class",
	class_specifier: "class",
	enum_specifier: "enum",
	enumerator: "property",
	preproc_def: "variable",
	preproc_function_def: "function",
	alias_declaration: "type",
	concept_definition: "type",
} as const;

const THROUGH =
	/^(?:preproc_(?:if|ifdef|else|elif|elifdef)|linkage_specification|declaration_list|namespace_definition|template_declaration|field_declaration_list|enumerator_list|extern_c|ERROR)$/;

/** Shared with C++. */
export const rules: OutlineRules = {
	find(node) {
		const symbol = TYPES[node.type as keyof typeof TYPES];
		if (symbol) return isNameless(node) ? "through" : named(node, symbol);
		switch (node.type) {
			case "function_definition": {
				const declarator = child(node, "declarator");
				if (declarator?.type !== "parenthesized_declarator") return functionIn(node, declarator);
				// After a macro, `static int __init start(void)` reads as a declaration and a function of type `start`.
				const id = child(node, "type");
				return id?.type === "type_identifier"
					? [{ id, symbol: "function", headEnd: child(node, "body")?.start ?? node.end }]
					: [];
			}
			case "type_definition":
				return [...inner(node), ...declarators(node, "type")];
			case "declaration":
			case "field_declaration": {
				const found = [...inner(node), ...declarators(node, "variable")];
				const type = child(node, "type");
				// The members of `union { int a; };` are those of what is around it.
				return found.length === 0 && type && isNameless(type) ? "through" : found;
			}
		}
		return THROUGH.test(node.type) ? "through" : [];
	},
	imports(node, text) {
		const path = node.type === "preproc_include" ? child(node, "path") : undefined;
		return path ? [{ specifier: text(path), node: path }] : [];
	},
	names: /^(?:type_|field_|namespace_)?identifier$/,
	wrapping: /^template_declaration$/,
	docLine: /^\/\/[/!]? ?/,
	isPublic: (signature) => !/^static\b/.test(signature),
};

/** A type that is defined without a name: `struct { … }`. */
function isNameless(node: SyntaxNode): boolean {
	return /_specifier$/.test(node.type) && !child(node, "name") && child(node, "body") !== undefined;
}

function named(node: SyntaxNode, symbol: (typeof TYPES)[keyof typeof TYPES]): readonly Found[] {
	const id = child(node, "name");
	const body = child(node, "body");
	const isUse = /_specifier$/.test(node.type) && !body;
	if (!id || isUse) return [];
	const plain =
		id.type === "template_type" || id.type === "qualified_identifier"
			? (child(id, "name") ?? id)
			: id;
	const headEnd = node.type.startsWith("preproc")
		? Math.min(node.end, (child(node, "parameters") ?? id).end)
		: undefined;
	return [{ id: plain, symbol, body, headEnd }];
}

/** Types that a declaration defines on the way: `typedef struct point { … } point`. */
function inner(node: SyntaxNode): readonly Found[] {
	const type = child(node, "type");
	const symbol = type && TYPES[type.type as keyof typeof TYPES];
	return type && symbol ? named(type, symbol) : [];
}

function declarators(node: SyntaxNode, symbol: "type" | "variable"): readonly Found[] {
	const type = child(node, "type");
	const body = type && child(type, "body");
	return node.children.flatMap((part): Found[] => {
		if (part.field !== "declarator") return [];
		const target = functionDeclarator(part);
		if (target && symbol !== "type") return [...functionIn(node, part)];
		const { id, owner } = nameIn(part);
		if (!id) return [];
		if (!body) {
			// A static member that is defined outside of its class.
			return [{ id, owner, symbol, headEnd: Math.min(node.end, part.end) }];
		}
		const head = { id, headEnd: body.start, signature: part };
		if (!isNameless(type)) return [{ ...head, symbol }];
		// `typedef struct { … } Foo` names the type.
		const isType = symbol === "type" && part === id;
		const kind = isType ? TYPES[type.type as keyof typeof TYPES] : symbol;
		return [{ ...head, symbol: kind, body }];
	});
}

function functionIn(node: SyntaxNode, declarator: SyntaxNode | undefined): readonly Found[] {
	const { id, owner } = declarator ? nameIn(declarator) : {};
	const headEnd = child(node, "body")?.start ?? node.end;
	return id ? [{ id, owner, symbol: "function", headEnd }] : [];
}

function functionDeclarator(node: SyntaxNode): SyntaxNode | undefined {
	if (node.type === "function_declarator") {
		// `int (*handler)(void)` declares a variable.
		const target = child(node, "declarator");
		return target?.type === "parenthesized_declarator" ? undefined : node;
	}
	const next =
		child(node, "declarator") ??
		(/^reference_|^pointer_/.test(node.type) ? node.children.at(-1) : undefined);
	return next && /declarator$/.test(next.type) ? functionDeclarator(next) : undefined;
}

function nameIn(node: SyntaxNode): { id?: SyntaxNode; owner?: SyntaxNode | undefined } {
	if (
		/^(?:type_|field_)?identifier$|^(?:destructor|operator)_name$|^operator_cast$/.test(node.type)
	)
		return { id: node };
	if (node.type === "qualified_identifier") {
		const scope = child(node, "scope");
		const name = child(node, "name");
		if (name?.type === "qualified_identifier") return nameIn(name);
		const owner = scope?.type === "template_type" ? child(scope, "name") : scope;
		return name ? { ...nameIn(name), owner } : {};
	}
	if (node.type === "template_function") {
		const name = child(node, "name");
		return name ? nameIn(name) : {};
	}
	const next =
		child(node, "declarator") ??
		node.children.find(({ type }) => /declarator$|identifier$|_name$/.test(type));
	return next ? nameIn(next) : {};
}
