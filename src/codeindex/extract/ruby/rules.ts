import type { Found, OutlineRules } from "../by-name/outline.ts";
import { child, ofType } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

const SYMBOLS = {
	class: "class",
	module: "namespace",
	method: "function",
	singleton_method: "function",
} as const;

/** Also blocks and arguments: `included do … end`, `private def name`. */
const THROUGH =
	/^(?:body_statement|singleton_class|begin|rescue|ensure|if|unless|elsif|else|then|(?:if|unless)_modifier|argument_list|do_block|block|block_body)$/;

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
			if (!id) return [];
			return [
				made(id, node, text) ?? {
					id,
					symbol: "variable",
					headEnd: Math.min(node.end, id.end + 60),
				},
			];
		}
		if (node.type === "alias") {
			const id = child(node, "name");
			return id?.type === "identifier" ? [{ id, symbol: "function" }] : [];
		}
		if (node.type === "call") {
			const declared = declaredBy(node, text);
			return declared.length > 0 ? declared : "through";
		}
		return THROUGH.test(node.type) ? "through" : [];
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

/** `Point = Struct.new(:x) do … end` and the like are classes. */
function made(
	id: SyntaxNode,
	node: SyntaxNode,
	text: (node: SyntaxNode) => string,
): Found | undefined {
	const call = child(node, "right");
	const receiver = call?.type === "call" ? child(call, "receiver") : undefined;
	const method = call && child(call, "method");
	if (!call || !receiver || !method) return undefined;
	const maker = `${text(receiver)}.${text(method)}`;
	if (!/^(?:Struct|Class|Module)\.new$|^Data\.define$/.test(maker)) return undefined;
	const given = child(call, "arguments");
	const block = child(call, "block");
	return {
		id,
		symbol: "class",
		body: block && (child(block, "body") ?? block),
		members: /^[SD]/.test(maker) ? symbols(given) : [],
		headEnd: given?.end ?? method.end,
	};
}

/** `attr_reader :name`, `define_method(:name)` and `alias_method :name, :old` declare members. */
function declaredBy(node: SyntaxNode, text: (node: SyntaxNode) => string): readonly Found[] {
	const method = child(node, "method");
	const called = method ? text(method) : "";
	const given = child(node, "arguments");
	const names = symbols(given);
	if (/^attr_(?:reader|writer|accessor)$/.test(called)) return names;
	if (!/^(?:define_method|alias_method)$/.test(called)) return [];
	return names.slice(0, 1).map((one) => ({ ...one, symbol: "function", headEnd: given?.end }));
}

function symbols(given: SyntaxNode | undefined): readonly Found[] {
	return (given?.children ?? []).flatMap((one) => {
		if (one.type !== "simple_symbol") return [];
		const id = { ...one, start: one.start + 1 };
		return [{ id, symbol: "variable" as const, headEnd: one.end }];
	});
}
