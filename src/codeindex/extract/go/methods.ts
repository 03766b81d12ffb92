import type { Declared, Member, TypeName } from "../../facts.ts";
import { commentBefore } from "../tree-sitter/doc-text.ts";
import { child, type FactsDraft } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import { Block, type FileNames, UNKNOWN } from "./scope.ts";
import { resultKnown } from "./types.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Methods of a type that another file declares form a partial declaration here. */
export function declareMethods(draft: FactsDraft, names: FileNames, root: SyntaxNode): void {
	const partials = new Map<string, number>();
	for (const node of root.children) {
		const id = child(node, "name");
		const owner = node.type === "method_declaration" ? receiverType(node) : undefined;
		if (!id || !owner) continue;
		const block = receiverBlock(draft, node);
		const result = resultKnown(draft, names, child(node, "result"), block).type;
		const added = member(draft, id, node, "method", result, child(node, "body")?.start ?? node.end);
		const name = draft.text(owner);
		let binding = names.declared.get(name) ?? partials.get(name);
		if (binding === undefined) {
			binding = draft.declare({
				kind: "declared",
				name,
				symbol: "type",
				partial: true,
				at: draft.at(owner.start),
				endLine: draft.line(node.end),
				signature: `methods of ${name}`,
			});
			partials.set(name, binding);
			draft.export(`+${name}`, binding);
		}
		const before = draft.bindings[binding] as Mutable<Declared>;
		draft.bindings[binding] = {
			...before,
			...(before.partial && { endLine: draft.line(node.end) }),
			members: [...(before.members ?? []), added],
		};
	}
}

/** The name of the receiver's type: `T` in `(t *T[K])`. */
function receiverType(method: SyntaxNode): SyntaxNode | undefined {
	const type = child(method, "receiver")?.children[0];
	const written = type && child(type, "type");
	return written && embeddedName(written);
}

/** The receiver's type arguments declare names: `K` in `(t *T[K])`. */
export function receiverBlock(draft: FactsDraft, method: SyntaxNode, parent?: Block): Block {
	const block = new Block(parent);
	const visit = (node: SyntaxNode, isInside: boolean): void => {
		if (node.type === "type_identifier" && isInside) block.declare(draft.text(node), UNKNOWN);
		for (const inner of node.children) visit(inner, isInside || node.type === "type_arguments");
	};
	const receiver = child(method, "receiver");
	if (receiver) visit(receiver, false);
	return block;
}

/** Type parameters hide names of the package. */
export function typeParameters(draft: FactsDraft, node: SyntaxNode, parent?: Block): Block {
	const block = new Block(parent);
	for (const parameter of child(node, "type_parameters")?.children ?? []) {
		for (const id of parameter.children) if (id.field === "name") block.declare(draft.text(id));
	}
	return block;
}

/** An embedded field has its type's name. */
export function embeddedName(type: SyntaxNode): SyntaxNode | undefined {
	if (type.type === "type_identifier") return type;
	if (type.type === "qualified_type") return child(type, "name");
	const inner = child(type, "type") ?? type.children[0];
	return inner && embeddedName(inner);
}

export function member(
	draft: FactsDraft,
	id: SyntaxNode,
	node: SyntaxNode,
	symbol: "method" | "property",
	type: TypeName | undefined,
	end = node.end,
): Member {
	const doc = commentBefore(draft.source, node.start, /^\/\/ ?/);
	return {
		name: draft.text(id),
		symbol,
		static: false,
		at: draft.at(id.start),
		endLine: draft.line(node.end),
		signature: draft.signature(node.start, Math.min(end, node.start + 200)),
		...(doc !== undefined && { doc }),
		...(type && { type }),
	};
}
