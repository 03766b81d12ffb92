import type { TypeName } from "../../facts.ts";
import { type Chain, child, type FactsDraft } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import { type Block, type FileNames, type Known, PREDECLARED, UNKNOWN } from "./scope.ts";

/** What a type expression stands for. `block` has type parameters and local types. */
export function typeKnown(
	draft: FactsDraft,
	names: FileNames,
	node: SyntaxNode | undefined,
	block?: Block,
): Known {
	const inner = (part: SyntaxNode | undefined) => typeKnown(draft, names, part, block);
	switch (node?.type) {
		case "type_identifier":
			return { type: namedType(names, draft.text(node), block) };
		case "qualified_type": {
			const [module, name] = node.children;
			const binding = module && names.imports.get(draft.text(module));
			if (binding === undefined || !name) return UNKNOWN;
			return { type: { binding, side: "value", path: [{ name: draft.text(name), called: true }] } };
		}
		case "pointer_type":
		case "parenthesized_type":
		case "type_elem":
			return node.children.length === 1 ? inner(node.children[0]) : UNKNOWN;
		case "generic_type":
			return inner(child(node, "type"));
		case "slice_type":
		case "array_type":
		case "implicit_length_array_type":
			return { element: inner(child(node, "element")) };
		case "map_type":
		case "channel_type":
			return { element: inner(child(node, "value")) };
		case "function_type":
			return { result: resultKnown(draft, names, child(node, "result"), block) };
	}
	return UNKNOWN;
}

/** The first result. Only its type is known to callers. */
export function resultKnown(
	draft: FactsDraft,
	names: FileNames,
	result: SyntaxNode | undefined,
	block?: Block,
): Known {
	const first = result?.type === "parameter_list" ? result.children[0] : result;
	const type = first?.type === "parameter_declaration" ? child(first, "type") : first;
	return typeKnown(draft, names, type, block);
}

function namedType(names: FileNames, name: string, block: Block | undefined): TypeName | undefined {
	if (block?.find(name)) return undefined;
	const declared = names.declared.get(name);
	if (declared !== undefined) return { binding: declared, side: "instance" };
	if (PREDECLARED.has(name) || names.dots.length > 0) return undefined;
	return { binding: names.package, side: "value", path: [{ name, called: true }] };
}

/** The chain of a name that is no local variable. */
export function nameChain(
	draft: FactsDraft,
	names: FileNames,
	name: string,
	start: number,
): Chain | undefined {
	const binding = names.declared.get(name) ?? names.imports.get(name);
	if (binding !== undefined) return { bindings: [binding], at: start, side: "value", steps: [] };
	if (PREDECLARED.has(name)) return undefined;
	const bindings = /^\p{Lu}/u.test(name) ? [names.package, ...names.dots] : [names.package];
	return { bindings, side: "value", steps: [{ name, at: draft.at(start) }] };
}
