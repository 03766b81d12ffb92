import type { TypeName } from "../../facts.ts";
import {
	type Chain,
	called,
	chainOf,
	child,
	type FactsDraft,
	typeOf,
} from "../tree-sitter/facts-draft.ts";
import { operandsOf, type SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import { declareImport, type ImportPlace, type LoadedModules } from "./imports.ts";
import {
	bind,
	fields,
	type LocalValue,
	type Name,
	namesBoundIn,
	Scope,
	type Target,
} from "./scope.ts";
import { annotated, type Known, type TypeReader, typeOfName } from "./types.ts";

/** A name that is declared at the top level, with the nodes that declare it. */
export interface TopDeclaration {
	readonly name: string;
	readonly binding: number;
	readonly nodes: (SyntaxNode | Target)[];
}

interface ModuleChain extends Chain {
	/** The dotted path so far, and all modules that imports load below it. */
	readonly module?: { readonly path: string; readonly loaded: ReadonlySet<string> };
}

/** Expressions whose value has a chain. */
const CHAINS = /^(?:identifier|attribute|call|await|parenthesized_expression|subscript)$/;

/** Walks a module with its scopes, and records what its names refer to. */
export class PythonWalk implements TypeReader {
	readonly draft: FactsDraft;
	readonly source: string;
	readonly module = new Scope("module");
	readonly tops = new Map<string, TopDeclaration>();
	/** Types of classes at the top level or in the body of one, by node. */
	readonly classes = new Map<SyntaxNode, TypeName>();
	readonly bases = new Map<string, TypeName>();
	readonly #loaded: LoadedModules = new Map();
	readonly #stars: number[] = [];
	readonly #submodules: Map<string, number> | undefined;

	constructor(draft: FactsDraft, isPackage: boolean) {
		this.draft = draft;
		this.source = draft.source;
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
			if (!scope.names.has(name)) this.draft.export(name, binding);
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
		return { draft: this.draft, scope, loaded: this.#loaded, stars: this.#stars };
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
					if (part.type === "decorator") this.#expressions(part, scope);
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
				if (annotation) this.#type(annotation, scope);
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
				this.#type(node, scope);
				return;
			case "identifier":
			case "attribute":
			case "call":
			case "subscript":
			case "await":
			case "parenthesized_expression":
				this.draft.record(this.#reach(node, scope, true), node.type === "call" ? "call" : "read");
				return;
		}
		for (const inner of node.children) this.visit(inner, scope);
	}

	#expressions(node: SyntaxNode, scope: Scope): void {
		for (const inner of node.children) this.visit(inner, scope);
	}

	chain(node: SyntaxNode, scope: Scope): Chain | undefined {
		return this.#reach(node, scope, false);
	}

	dottedChain(name: string, scope: Scope): Chain | undefined {
		const [first = "", ...rest] = name.split(".");
		let chain = this.#named(first, 0, scope);
		for (const one of rest) chain = chain && this.#access(chain, one, 0);
		return chain;
	}

	#reach(node: SyntaxNode, scope: Scope, isRecording: boolean): ModuleChain | undefined {
		switch (node.type) {
			case "identifier":
				return this.#named(this.draft.text(node), node.start, scope);
			case "attribute": {
				const [object, attribute] = fields(node, "object", "attribute");
				if (!object || !attribute) return undefined;
				const chain = this.#reach(object, scope, isRecording);
				const name = this.draft.text(attribute);
				if (chain || isRecording) return this.#access(chain, name, attribute.start);
				return undefined;
			}
			case "call": {
				const [function_, arguments_] = fields(node, "function", "arguments");
				if (isRecording && arguments_) this.visit(arguments_, scope);
				if (!function_) return undefined;
				const base = this.draft.text(function_) === "super" && scope.owner;
				if (base) {
					const parent = this.bases.get(JSON.stringify(base));
					return parent && chainOf({ ...parent, side: parent.path ? parent.side : "instance" });
				}
				return called(this.#reach(function_, scope, isRecording));
			}
			case "await":
			case "parenthesized_expression": {
				const [inner, other] = node.children;
				if (!inner || other) break;
				return this.#reach(inner, scope, isRecording);
			}
			case "subscript": {
				const [value, ...keys] = node.children;
				if (!value) return undefined;
				const { element } = this.#valueOf(value, scope);
				if (isRecording) {
					this.draft.record(
						this.#reach(value, scope, true),
						value.type === "call" ? "call" : "read",
					);
					for (const key of keys) this.visit(key, scope);
				}
				return element && chainOf(element);
			}
		}
		if (isRecording) {
			if (CHAINS.test(node.type)) this.#expressions(node, scope);
			else this.visit(node, scope);
		}
		return undefined;
	}

	#named(name: string, start: number, scope: Scope): ModuleChain | undefined {
		const found = scope.find(name);
		if (!found || this.#isEarlier(found, name, start, scope)) {
			if (this.#stars.length === 0) return undefined;
			return { bindings: this.#stars, side: "value", steps: [{ name, at: this.draft.at(start) }] };
		}
		const loaded = this.#loaded.get(name);
		if (loaded && found.values.length === 0) {
			const module = { path: name, loaded };
			const [binding] = found.bindings;
			if (binding !== undefined) {
				return { bindings: [binding], at: start, side: "value", steps: [], module };
			}
			return { bindings: [this.#moduleBinding(name, start)], side: "value", steps: [], module };
		}
		if (found.bindings.length > 0) {
			return { bindings: found.bindings, at: start, side: "value", steps: [] };
		}
		if (found.owner) {
			const owner = chainOf({ ...found.owner, side: "value" });
			return { ...owner, steps: [...owner.steps, { name, at: this.draft.at(start) }] };
		}
		const { type } = this.knownOf(found);
		return type && chainOf(type);
	}

	/** Whether the module reads the name before it binds it, as in `str = str`. The name is then a builtin. */
	#isEarlier(found: Name, name: string, start: number, scope: Scope): boolean {
		if (scope.kind === "function" || found !== this.module.names.get(name)) return false;
		const first = this.tops.get(name)?.nodes[0];
		if (!first || !("by" in first) || found.bindings.length > 1) return false;
		return (
			start !== first.id.start &&
			start > 0 &&
			start < first.by.end &&
			first.by.type === "assignment"
		);
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

	#moduleBinding(path: string, start: number): number {
		return this.draft.namespace(this.draft.request(path, start), start);
	}

	#access(chain: ModuleChain | undefined, name: string, start: number): ModuleChain | undefined {
		const module = chain?.steps.length === 0 ? chain.module : undefined;
		if (module) {
			const path = `${module.path}.${name}`;
			const isLoaded = [...module.loaded].some((one) => one === path || one.startsWith(`${path}.`));
			if (isLoaded) {
				const bindings = [this.#moduleBinding(path, start)];
				return { bindings, side: "value", steps: [], module: { ...module, path } };
			}
		}
		return this.draft.access(chain, name, start);
	}

	/** What is known of a local variable, or of a variable at the top level. */
	knownOf(name: Name): Known {
		return typeOfName(name, (value) => this.#evaluate(value));
	}

	#evaluate({ annotation, value, type, element, unknown, scope }: LocalValue): Known | "none" {
		if (type) return { type };
		if (annotation) return annotated(this, annotation, scope);
		if (!value || unknown) return {};
		if (value.type === "none") return "none";
		const known = this.#valueOf(value, scope);
		return element ? { type: known.element } : known;
	}

	#valueOf(node: SyntaxNode, scope: Scope): Known {
		if (node.type === "identifier") {
			const found = scope.find(this.draft.text(node));
			if (found && found.values.length > 0 && found.values.every(({ unknown }) => !unknown)) {
				const known = this.knownOf(found);
				if (known.element) return known;
			}
		}
		return CHAINS.test(node.type) ? { type: typeOf(this.#reach(node, scope, false)) } : {};
	}

	/** Records a name that is written. A name at the top level keeps its place of declaration. */
	#target(node: SyntaxNode, scope: Scope): void {
		if (node.type === "identifier")
			this.draft.record(this.#named(this.draft.text(node), node.start, scope), "write");
		else if (node.type === "attribute") this.draft.record(this.#reach(node, scope, true), "write");
		else if (node.type === "subscript") this.visit(node, scope);
		else for (const inner of node.children) this.#target(inner, scope);
	}

	/** Names in annotations, also in quoted ones. */
	#type(node: SyntaxNode, scope: Scope): void {
		if (node.type === "identifier" || node.type === "attribute") {
			this.draft.record(this.#reach(node, scope, true), "type");
		} else if (node.type === "string") this.#quoted(node, scope);
		else if (node.type === "call") this.visit(node, scope);
		else {
			const isLiteral = /^(?:\w+\.)?Literal\[/.test(this.draft.text(node));
			for (const inner of node.children)
				if (!isLiteral || inner.type !== "type_parameter") this.#type(inner, scope);
		}
	}

	#quoted(node: SyntaxNode, scope: Scope): void {
		for (const content of node.children) {
			if (content.type !== "string_content") continue;
			for (const found of this.draft
				.text(content)
				.matchAll(/[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/gu)) {
				let at = content.start + found.index;
				let chain: ModuleChain | undefined;
				for (const [index, name] of found[0].split(".").entries()) {
					chain =
						index === 0 ? this.#named(name, at, scope) : chain && this.#access(chain, name, at);
					at += name.length + 1;
				}
				this.draft.record(chain, "type");
			}
		}
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
						{ bindings: found.bindings, at: node.start, side: "value", steps: [] },
						"read",
					);
				}
			} else node.children.forEach(visit);
		};
		visit(right);
	}

	#pattern(node: SyntaxNode, scope: Scope): void {
		for (const [index, part] of node.children.entries()) {
			if (part.type === "dotted_name") {
				const isClass = node.type === "class_pattern" && index === 0;
				if (part.children.length > 1 || isClass) this.#dotted(part, scope);
				else this.#target(part, scope);
			} else if (part.type === "identifier") {
				if (node.type !== "keyword_pattern" || index > 0) this.#target(part, scope);
			} else this.#pattern(part, scope);
		}
	}

	#dotted(node: SyntaxNode, scope: Scope): void {
		let chain: ModuleChain | undefined;
		for (const [index, { start, end }] of node.children.entries()) {
			const name = this.source.slice(start, end);
			chain =
				index === 0 ? this.#named(name, start, scope) : chain && this.#access(chain, name, start);
		}
		this.draft.record(chain, "read");
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
		if (generics) this.#typeParameters(generics, inner);
		for (const parameter of parameters?.children ?? []) this.#parameter(parameter, scope, inner);
		if (result) this.#type(result, inner);
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

	#typeParameters(node: SyntaxNode, inner: Scope): void {
		const isWrapped =
			node.type === "type_parameter" || node.type === "type" || node.type === "constrained_type";
		if (node.type === "identifier")
			inner.add(this.draft.text(node), { unknown: true, scope: inner });
		else if (node.type === "constrained_type") {
			const [name, bound] = node.children;
			if (name) this.#typeParameters(name, inner);
			if (bound) this.#type(bound, inner);
		} else if (isWrapped) for (const part of node.children) this.#typeParameters(part, inner);
	}

	#parameter(node: SyntaxNode, outer: Scope, inner: Scope): void {
		const [annotation, value] = fields(node, "type", "value");
		if (annotation) this.#type(annotation, inner);
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

	readonly #decorators = new Map<SyntaxNode, readonly string[]>();

	/** Called for every decorated definition before its names are used. */
	noteDecorators(decorated: SyntaxNode): void {
		const definition = child(decorated, "definition");
		const names = decorated.children
			.filter(({ type }) => type === "decorator")
			.map((node) =>
				this.draft
					.text(node)
					.replace(/^@\s*|\(.*$/gs, "")
					.trim(),
			);
		if (definition) this.#decorators.set(definition, names);
	}

	decoratorsOf(node: SyntaxNode): readonly string[] {
		return this.#decorators.get(node) ?? [];
	}

	methodKind(node: SyntaxNode): "static" | "class" | "instance" {
		const all = this.decoratorsOf(node);
		if (all.includes("staticmethod")) return "static";
		const id = child(node, "name");
		const name = id ? this.draft.text(id) : "";
		const isClass =
			all.includes("classmethod") || /^__(?:new|init_subclass|class_getitem)__$/.test(name);
		return isClass ? "class" : "instance";
	}

	#class(node: SyntaxNode, scope: Scope): void {
		const [parents, body, generics] = fields(node, "superclasses", "body", "type_parameters");
		const owner = this.classes.get(node);
		const inner = new Scope("class", scope, owner);
		const around = generics ? new Scope("function", scope) : scope;
		if (generics) this.#typeParameters(generics, around);
		for (const parent of parents?.children ?? []) {
			if (parent.type === "identifier" || parent.type === "attribute") {
				this.draft.record(this.#reach(parent, around, true), "extends");
			} else if (parent.type === "subscript") {
				const [base, ...rest] = parent.children;
				if (base) this.draft.record(this.#reach(base, around, true), "extends");
				for (const one of rest) this.#type(one, around);
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
