import type { TypeName } from "../../facts.ts";
import { called, chainOf, child, type FactsDraft, typeOf } from "../tree-sitter/facts-draft.ts";
import { operandsOf, type SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import { type ModuleChain, PythonChains } from "./chains.ts";
import { declareImport, type ImportPlace } from "./imports.ts";
import { bind, fields, namesBoundIn, Scope, type Target } from "./scope.ts";

/** Walks a module with its scopes, and records what its names refer to. */
export class PythonWalk extends PythonChains {
	readonly #submodules: Map<string, number> | undefined;

	constructor(draft: FactsDraft, isPackage: boolean) {
		super(draft);
		this.#submodules = isPackage ? new Map() : undefined;
	}

	declareModule(statements: readonly SyntaxNode[]): void {
		const scope = this.module;
		const bound = namesBoundIn(statements, this.source);
		const all = [
			...bound.definitions.map((node) => ({
				start: node.start,
				add: () => this.#declareTop(node),
			})),
			...bound.targets.map((target) => {
				return { start: target.id.start, add: () => this.#declareTop(target) };
			}),
			...bound.imports.map((node) => {
				const submodules = this.#submodules;
				const place = { ...this.#place(scope), ...(submodules && { submodules }) };
				return { start: node.start, add: () => declareImport(place, node) };
			}),
		];
		for (const { add } of all.sort((one, other) => one.start - other.start)) add();
		for (const [name, binding] of this.#submodules ?? []) {
			// Other names of the module take precedence, also those of `import *`.
			if (!scope.names.has(name)) this.draft.export(`/${name}`, binding);
		}
	}

	exportNames(): void {
		for (const [name, { bindings }] of this.module.names) {
			for (const binding of bindings) {
				this.draft.export(name, binding);
				const next = this.draft.bindings[binding + 1];
				if (next?.kind === "imported" && next.fallback) this.draft.export(name, binding + 1);
			}
		}
	}

	walkModule(statements: readonly SyntaxNode[]): void {
		for (const statement of statements) this.visit(statement, this.module);
		this.#joinImports();
		this.exportNames();
	}

	/** Also for names that functions declare with `global`. */
	#declareTop(node: SyntaxNode | Target): void {
		const id = "by" in node ? node.id : child(node, "name");
		if (!id) return;
		const name = this.draft.text(id);
		const known = this.tops.get(name);
		if (known) known.nodes.push(node);
		else {
			const at = this.draft.at(id.start);
			const line = this.draft.line(id.start);
			const binding = this.draft.declare({
				kind: "declared",
				name,
				symbol: "variable",
				at,
				endLine: line,
				signature: name,
			});
			this.tops.set(name, { name, binding, nodes: [node] });
			this.module.add(name).bindings.push(binding);
		}
		if ("by" in node) this.module.add(name, { ...node.value, scope: this.module });
	}

	#place(scope: Scope): ImportPlace {
		return { draft: this.draft, scope, loaded: this.loaded, stars: this.stars };
	}

	visit(node: SyntaxNode, scope: Scope): void {
		switch (node.type) {
			case "comment":
			case "import_statement":
			case "import_from_statement":
			case "future_import_statement":
			case "nonlocal_statement":
				return;
			case "decorated_definition":
				for (const part of node.children) {
					if (part.type === "decorator") this.expressions(part, scope);
					else this.visit(part, scope);
				}
				return;
			case "function_definition":
				this.#function(node, scope);
				return;
			case "class_definition":
				this.#class(node, scope);
				return;
			case "lambda":
				this.#lambda(node, scope);
				return;
			case "list_comprehension":
			case "set_comprehension":
			case "dictionary_comprehension":
			case "generator_expression":
				this.#comprehension(node, scope);
				return;
			case "assignment":
			case "augmented_assignment": {
				const [left, right, annotation] = fields(node, "left", "right", "type");
				if (annotation) this.type(annotation, scope);
				if (left) this.#target(left, scope);
				if (right) this.visit(right, scope);
				if (left && right) this.#exportList(left, right, scope);
				return;
			}
			case "named_expression":
			case "for_statement":
			case "for_in_clause":
			case "delete_statement":
			case "global_statement":
				for (const part of node.children) {
					const isTarget = part.field === "left" || part.field === "name";
					if (isTarget || (part.field === "" && /^(?:del|glob)/.test(node.type)))
						this.#target(part, scope);
					else this.visit(part, scope);
				}
				return;
			case "binary_operator":
			case "boolean_operator":
				for (const operand of operandsOf(node)) this.visit(operand, scope);
				return;
			case "as_pattern": {
				const [value, target] = node.children;
				if (value) this.visit(value, scope);
				if (target) this.#target(target, scope);
				return;
			}
			case "keyword_argument": {
				const value = child(node, "value");
				if (value) this.visit(value, scope);
				return;
			}
			case "case_pattern":
				this.#pattern(node, scope);
				return;
			case "type":
			case "type_alias_statement":
				this.type(node, scope);
				return;
			case "identifier":
			case "attribute":
			case "call":
			case "subscript":
			case "await":
			case "parenthesized_expression":
				this.draft.record(this.reach(node, scope, true), node.type === "call" ? "call" : "read");
				return;
		}
		for (const inner of node.children) this.visit(inner, scope);
	}

	/** A name that is imported or else assigned is one symbol: the import is one of its places. */
	#joinImports(): void {
		for (const { bindings } of this.module.names.values()) {
			if (bindings.length < 2) continue;
			const all = bindings.map((binding) => this.draft.bindings[binding]);
			for (const [index, binding] of bindings.entries()) {
				if (all[index]?.kind !== "declared") continue;
				for (const one of all) {
					if (one?.kind !== "imported") continue;
					this.draft.references.push({ binding, at: one.at, usage: "import" });
				}
			}
		}
	}

	/** Records a name that is written. A name at the top level keeps its place of declaration. */
	#target(node: SyntaxNode, scope: Scope): void {
		if (node.type === "identifier")
			this.draft.record(this.named(this.draft.text(node), node.start, scope), "write");
		else if (node.type === "attribute") this.draft.record(this.reach(node, scope, true), "write");
		else if (node.type === "subscript") this.visit(node, scope);
		else for (const inner of node.children) this.#target(inner, scope);
	}

	/** Strings in `__all__` refer to names of the module. */
	#exportList(left: SyntaxNode, right: SyntaxNode, scope: Scope): void {
		if (scope !== this.module || this.draft.text(left) !== "__all__") return;
		const visit = (node: SyntaxNode): void => {
			const [start, content, end] = node.children;
			if (node.type === "string" && start && content && end) {
				const found = this.module.names.get(this.draft.text(content));
				if (found && found.bindings.length > 0) {
					this.draft.record(
						{ bindings: found.bindings, at: content.start, side: "value", steps: [] },
						"read",
					);
				}
			} else node.children.forEach(visit);
		};
		visit(right);
	}

	/** `matched` is the type of a class pattern around it, whose keywords are attributes. */
	#pattern(node: SyntaxNode, scope: Scope, matched?: TypeName): void {
		let type = node.type === "class_pattern" ? undefined : matched;
		for (const [index, part] of node.children.entries()) {
			if (part.type === "dotted_name") {
				const isClass = node.type === "class_pattern" && index === 0;
				if (part.children.length > 1 || isClass) {
					const chain = this.#dotted(part, scope);
					if (isClass) type = typeOf(called(chain));
				} else this.#target(part, scope);
			} else if (part.type === "identifier") {
				if (node.type !== "keyword_pattern" || index > 0) this.#target(part, scope);
				else {
					const chain = this.access(type && chainOf(type), this.draft.text(part), part.start);
					this.draft.record(chain, "read");
				}
			} else this.#pattern(part, scope, type);
		}
	}

	#dotted(node: SyntaxNode, scope: Scope): ModuleChain | undefined {
		let chain: ModuleChain | undefined;
		for (const [index, { start, end }] of node.children.entries()) {
			const name = this.source.slice(start, end);
			chain =
				index === 0 ? this.named(name, start, scope) : chain && this.access(chain, name, start);
		}
		this.draft.record(chain, "read");
		return chain;
	}

	#function(node: SyntaxNode, scope: Scope): void {
		const [parameters, result, body, generics] = fields(
			node,
			"parameters",
			"return_type",
			"body",
			"type_parameters",
		);
		const inner = new Scope(
			"function",
			scope,
			scope.kind === "class" ? scope.owner : methodOwner(scope),
		);
		if (generics) this.typeParameters(generics, inner);
		for (const parameter of parameters?.children ?? []) this.#parameter(parameter, scope, inner);
		if (result) this.type(result, inner);
		if (scope.kind === "class") this.#selfParameter(node, parameters, scope, inner);
		if (body) this.#body(body, inner);
	}

	#body(body: SyntaxNode, scope: Scope): void {
		this.#declareLocals(body.children, scope);
		for (const statement of body.children) this.visit(statement, scope);
	}

	#declareLocals(statements: readonly SyntaxNode[], scope: Scope): void {
		const { targets, definitions, imports, globals, nonlocals } = namesBoundIn(
			statements,
			this.source,
		);
		for (const target of targets) {
			const name = this.draft.text(target.id);
			if (globals.has(name)) {
				if (!this.module.names.has(name)) this.#declareTop(target);
			} else if (!nonlocals.has(name)) scope.add(name, { ...target.value, scope });
		}
		for (const node of definitions) {
			const id = child(node, "name");
			if (id) scope.add(this.draft.text(id), { unknown: true, scope });
		}
		for (const node of imports) declareImport(this.#place(scope), node);
		for (const name of globals) {
			const found = this.module.names.get(name);
			if (found) scope.names.set(name, found);
		}
	}

	#parameter(node: SyntaxNode, outer: Scope, inner: Scope): void {
		const [annotation, value] = fields(node, "type", "value");
		if (annotation) this.type(annotation, inner);
		if (value) this.visit(value, outer);
		const id = node.type === "identifier" ? node : node.children[0];
		if (!id) return;
		if (id.type !== "identifier") {
			// `*args` is a tuple, `**kwargs` a dictionary.
			const splat = id.type.endsWith("splat_pattern") ? id : node;
			const [name] = splat.children;
			if (name) inner.add(this.draft.text(name), { unknown: true, scope: inner });
			return;
		}
		const known = annotation
			? { annotation }
			: value && value.type !== "none"
				? { value }
				: { unknown: true as const };
		inner.add(this.draft.text(id), { ...known, scope: outer });
	}

	#selfParameter(
		node: SyntaxNode,
		parameters: SyntaxNode | undefined,
		scope: Scope,
		inner: Scope,
	): void {
		const [first] = parameters?.children ?? [];
		const kind = this.methodKind(node);
		if (!first || !scope.owner || kind === "static" || first.type !== "identifier") return;
		const name = inner.names.get(this.draft.text(first));
		if (!name) return;
		name.values.length = 0;
		const type = kind === "class" ? scope.owner : instanceOf(scope.owner);
		name.values.push({ type: kind === "class" ? classOf(type) : type, scope: inner });
	}

	#class(node: SyntaxNode, scope: Scope): void {
		const [parents, body, generics] = fields(node, "superclasses", "body", "type_parameters");
		const owner = this.classes.get(node);
		const inner = new Scope("class", scope, owner);
		const around = generics ? new Scope("function", scope) : scope;
		if (generics) this.typeParameters(generics, around);
		for (const parent of parents?.children ?? []) {
			if (parent.type === "identifier" || parent.type === "attribute") {
				this.draft.record(this.reach(parent, around, true), "extends");
			} else if (parent.type === "subscript") {
				const [base, ...rest] = parent.children;
				if (base) this.draft.record(this.reach(base, around, true), "extends");
				for (const one of rest) this.type(one, around);
			} else this.visit(parent, around);
		}
		const { targets, definitions, imports } = namesBoundIn(body?.children ?? [], this.source);
		const names = [
			...targets.map(({ id }) => id),
			...definitions.flatMap((one) => child(one, "name") ?? []),
		];
		for (const id of names) {
			const name = this.draft.text(id);
			if (inner.names.has(name)) continue;
			inner.names.set(name, { bindings: [], values: [], ...(owner && { owner }) });
		}
		for (const one of imports) declareImport(this.#place(inner), one);
		for (const statement of body?.children ?? []) this.visit(statement, inner);
	}

	#lambda(node: SyntaxNode, scope: Scope): void {
		const [parameters, body] = fields(node, "parameters", "body");
		const inner = new Scope("function", scope, methodOwner(scope));
		for (const parameter of parameters?.children ?? []) this.#parameter(parameter, scope, inner);
		if (body) this.visit(body, inner);
	}

	/** The first iterable belongs to the scope around it. */
	#comprehension(node: SyntaxNode, scope: Scope): void {
		const inner = new Scope("function", scope, methodOwner(scope));
		const clauses = node.children.filter(({ type }) => type === "for_in_clause");
		for (const [index, clause] of clauses.entries()) {
			const [left, right] = fields(clause, "left", "right");
			const targets: Target[] = [];
			const value = right ? ({ value: right, element: true } as const) : {};
			if (left) bind(left, value, clause, { targets });
			for (const target of targets) {
				const around = index === 0 ? scope : inner;
				inner.add(this.draft.text(target.id), { ...target.value, scope: around });
			}
			if (right) this.visit(right, index === 0 ? scope : inner);
		}
		for (const part of node.children) {
			if (part.type !== "for_in_clause") this.visit(part, inner);
			else for (const one of part.children) if (one.field === "left") this.#target(one, inner);
		}
	}
}

function methodOwner(scope: Scope): TypeName | undefined {
	return scope.kind === "class" ? undefined : scope.owner;
}

function instanceOf(type: TypeName): TypeName {
	return type.path ? type : { ...type, side: "instance" };
}

function classOf(type: TypeName): TypeName {
	if (!type.path) return { ...type, side: "value" };
	return { ...type, path: type.path.map(({ name }) => ({ name })) };
}
