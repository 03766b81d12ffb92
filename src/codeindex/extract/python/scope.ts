import type { TypeName } from "../../facts.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";

/** What a name stands for. */
export interface Name {
	/** Bindings of the file: several if it is imported in one branch and assigned in another. */
	readonly bindings: number[];
	/** Set for a name of a class body: a member of this type. */
	readonly owner?: TypeName;
	/** Expressions and annotations that give a local variable its type. */
	readonly values: LocalValue[];
	/** Computed on first use. Null: unknown, or being computed. */
	type?: TypeName | null;
	element?: TypeName | null;
}

/** `element`: the variable holds an element of the value, as in a loop. `entered`: the value of `with`. */
export interface LocalValue {
	readonly annotation?: SyntaxNode;
	readonly value?: SyntaxNode;
	readonly type?: TypeName;
	readonly element?: true;
	readonly unknown?: true;
	readonly scope: Scope;
}

/** Names of a scope, declared before its body is walked. Class bodies are not visible from inside functions. */
export class Scope {
	readonly kind: "module" | "class" | "function";
	readonly parent: Scope | undefined;
	readonly names = new Map<string, Name>();
	/** The class whose body this is, or whose method. */
	readonly owner: TypeName | undefined;

	constructor(kind: Scope["kind"], parent?: Scope, owner?: TypeName) {
		this.kind = kind;
		this.parent = parent;
		this.owner = owner;
	}

	find(name: string): Name | undefined {
		for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
			if (scope.kind === "class" && scope !== this) continue;
			const found = scope.names.get(name);
			if (found) return found;
		}
		return undefined;
	}

	get module(): Scope {
		return this.parent?.module ?? this;
	}

	add(name: string, value?: LocalValue): Name {
		let known = this.names.get(name);
		if (!known) {
			known = { bindings: [], values: [] };
			this.names.set(name, known);
		}
		if (value) known.values.push(value);
		return known;
	}
}

export interface Target {
	readonly id: SyntaxNode;
	readonly value: Omit<LocalValue, "scope">;
	/** The statement that binds the name. */
	readonly by: SyntaxNode;
}

interface ScopeNames {
	readonly targets: Target[];
	readonly definitions: SyntaxNode[];
	readonly imports: SyntaxNode[];
	readonly globals: Set<string>;
	readonly nonlocals: Set<string>;
}

/** Finds all names that a body binds, in order, without entering functions and classes inside of it. */
export function namesBoundIn(nodes: readonly SyntaxNode[], source: string): ScopeNames {
	const found: ScopeNames = {
		targets: [],
		definitions: [],
		imports: [],
		globals: new Set(),
		nonlocals: new Set(),
	};
	for (const node of nodes) visit(node, found, source);
	return found;
}

function visit(node: SyntaxNode, found: ScopeNames, source: string): void {
	switch (node.type) {
		case "function_definition":
		case "class_definition":
			found.definitions.push(node);
			return;
		case "lambda":
			return;
		case "import_statement":
		case "import_from_statement":
			found.imports.push(node);
			return;
		case "global_statement":
		case "nonlocal_statement": {
			const names = node.type === "global_statement" ? found.globals : found.nonlocals;
			for (const { start, end } of node.children) names.add(source.slice(start, end));
			return;
		}
		case "assignment": {
			const [left, right, annotation] = fields(node, "left", "right", "type");
			const value = { ...(annotation && { annotation }), ...(right && { value: right }) };
			if (left) bind(left, value, node, found);
			break;
		}
		case "augmented_assignment":
		case "named_expression": {
			const [left, name, value] = fields(node, "left", "name", "value");
			const id = left ?? name;
			if (id) bind(id, value ? { value } : { unknown: true }, node, found);
			break;
		}
		case "type_alias_statement": {
			const id = node.children[0] && firstIdentifier(node.children[0]);
			if (id) found.targets.push({ id, value: {}, by: node });
			break;
		}
		case "for_statement": {
			const [left, right] = fields(node, "left", "right");
			if (left) bind(left, right ? { value: right, element: true } : {}, node, found);
			break;
		}
		case "delete_statement":
			for (const target of node.children) bind(target, { unknown: true }, node, found);
			break;
		case "as_pattern": {
			const target = node.children.at(-1);
			if (target && target !== node.children[0]) bind(target, { unknown: true }, node, found);
			break;
		}
		case "case_clause":
			for (const pattern of node.children) {
				if (pattern.type === "case_pattern") bindPattern(pattern, found);
			}
			break;
		case "list_comprehension":
		case "set_comprehension":
		case "dictionary_comprehension":
		case "generator_expression":
			// Only assignment expressions bind outside of it.
			visitWalrus(node, found);
			return;
	}
	for (const inner of node.children) visit(inner, found, source);
}

function visitWalrus(node: SyntaxNode, found: ScopeNames): void {
	if (node.type === "lambda") return;
	if (node.type === "named_expression" && node.children[0]) {
		bind(node.children[0], { unknown: true }, node, found);
	}
	for (const inner of node.children) visitWalrus(inner, found);
}

/** Names in a target: `a`, `(a, *b)`, `[a, b]`. Attributes and subscripts bind no name. */
export function bind(
	target: SyntaxNode,
	value: Omit<LocalValue, "scope">,
	by: SyntaxNode,
	found: Pick<ScopeNames, "targets">,
): void {
	switch (target.type) {
		case "identifier":
			found.targets.push({ id: target, value, by });
			return;
		case "pattern_list":
		case "tuple_pattern":
		case "list_pattern":
		case "tuple":
		case "list":
		case "expression_list":
		case "list_splat_pattern":
		case "as_pattern_target":
		case "parenthesized_expression":
		case "list_splat": {
			const isSingle = target.children.length === 1 && target.type === "as_pattern_target";
			for (const inner of target.children) {
				bind(inner, isSingle ? value : { unknown: true }, by, found);
			}
		}
	}
}

function bindPattern(pattern: SyntaxNode, found: ScopeNames): void {
	const parts = pattern.children;
	for (const [index, part] of parts.entries()) {
		if (part.type === "dotted_name") {
			const isClass = pattern.type === "class_pattern" && index === 0;
			const [id, other] = part.children;
			if (id && !other && !isClass)
				found.targets.push({ id, value: { unknown: true }, by: pattern });
		} else if (part.type === "identifier") {
			const isKey = pattern.type === "keyword_pattern" && index === 0;
			if (!isKey) found.targets.push({ id: part, value: { unknown: true }, by: pattern });
		} else bindPattern(part, found);
	}
}

export function fields(node: SyntaxNode, ...names: string[]): (SyntaxNode | undefined)[] {
	return names.map((name) => node.children.find(({ field }) => field === name));
}

function firstIdentifier(node: SyntaxNode): SyntaxNode | undefined {
	if (node.type === "identifier") return node;
	for (const inner of node.children) {
		const found = firstIdentifier(inner);
		if (found) return found;
	}
	return undefined;
}
