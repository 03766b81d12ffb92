import type { UsageKind } from "../../facts.ts";
import { type Chain, child, type FactsDraft } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import type { Block, FileNames } from "./scope.ts";
import { nameChain } from "./types.ts";

/** Records the names in types. */
export abstract class GoTypeWalk {
	protected readonly draft: FactsDraft;
	protected readonly names: FileNames;

	constructor(draft: FactsDraft, names: FileNames) {
		this.draft = draft;
		this.names = names;
	}

	/** Walks a statement or an expression. */
	protected abstract visit(node: SyntaxNode, block: Block): void;

	/** Names in a type. Embedded fields extend the struct. */
	protected type(node: SyntaxNode, block: Block, usage: UsageKind = "type"): void {
		switch (node.type) {
			case "type_identifier":
				this.draft.record(this.named(node, block), usage);
				return;
			case "qualified_type": {
				const [module, name] = node.children;
				if (!module || !name) return;
				const chain = this.named(module, block);
				this.draft.record(
					chain && this.draft.access(chain, this.draft.text(name), name.start),
					usage,
				);
				return;
			}
			case "field_declaration": {
				const type = child(node, "type");
				const isEmbedded = !node.children.some(({ field }) => field === "name");
				if (type) this.type(type, block, isEmbedded ? "extends" : "type");
				return;
			}
			case "parameter_declaration":
			case "variadic_parameter_declaration":
			case "method_elem":
			case "function_type":
				for (const part of node.children) if (part.field !== "name") this.type(part, block);
				return;
			case "array_type": {
				const length = child(node, "length");
				const element = child(node, "element");
				if (length) this.visit(length, block);
				if (element) this.type(element, block);
				return;
			}
			case "interpreted_string_literal":
			case "raw_string_literal":
			case "comment":
				return;
		}
		for (const part of node.children)
			this.type(
				part,
				block,
				node.type === "pointer_type" || node.type === "generic_type" ? usage : "type",
			);
	}

	protected named(id: SyntaxNode, block: Block): Chain | undefined {
		const name = this.draft.text(id);
		if (name === "_" || block.find(name)) return undefined;
		return nameChain(this.draft, this.names, name, id.start);
	}
}
