import type { TypeName } from "../../facts.ts";
import {
	type Chain,
	called,
	chainOf,
	child,
	type FactsDraft,
	typeOf,
} from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import type { LoadedModules } from "./imports.ts";
import { fields, type LocalValue, type Name, Scope, type Target } from "./scope.ts";
import { annotated, type Known, type TypeReader, typeOfName } from "./types.ts";

/** A name that is declared at the top level, with the nodes that declare it. */
export interface TopDeclaration {
	readonly name: string;
	readonly binding: number;
	readonly nodes: (SyntaxNode | Target)[];
}

export interface ModuleChain extends Chain {
	/** The dotted path so far, and all modules that imports load below it. */
	readonly module?: { readonly path: string; readonly loaded: ReadonlySet<string> };
}

/** Expressions whose value has a chain. */
const CHAINS = /^(?:identifier|attribute|call|await|parenthesized_expression|subscript)$/;

/** What expressions start at: the chains of names, attributes and calls, with the types of variables. */
export abstract class PythonChains implements TypeReader {
	readonly draft: FactsDraft;
	readonly source: string;
	readonly module = new Scope("module");
	readonly tops = new Map<string, TopDeclaration>();
	/** Types of classes at the top level or in the body of one, by node. */
	readonly classes = new Map<SyntaxNode, TypeName>();
	readonly bases = new Map<string, TypeName>();
	protected readonly loaded: LoadedModules = new Map();
	protected readonly stars: number[] = [];

	constructor(draft: FactsDraft) {
		this.draft = draft;
		this.source = draft.source;
	}

	/** Walks a node, and records what is in it. */
	protected abstract visit(node: SyntaxNode, scope: Scope): void;

	protected expressions(node: SyntaxNode, scope: Scope): void {
		for (const inner of node.children) this.visit(inner, scope);
	}

	chain(node: SyntaxNode, scope: Scope): Chain | undefined {
		return this.reach(node, scope, false);
	}

	dottedChain(name: string, scope: Scope): Chain | undefined {
		const [first = "", ...rest] = name.split(".");
		let chain = this.named(first, 0, scope);
		for (const one of rest) chain = chain && this.access(chain, one, 0);
		return chain;
	}

	protected reach(node: SyntaxNode, scope: Scope, isRecording: boolean): ModuleChain | undefined {
		switch (node.type) {
			case "identifier":
				return this.named(this.draft.text(node), node.start, scope);
			case "attribute": {
				const [object, attribute] = fields(node, "object", "attribute");
				if (!object || !attribute) return undefined;
				const chain = this.reach(object, scope, isRecording);
				const name = this.draft.text(attribute);
				if (chain || isRecording) return this.access(chain, name, attribute.start);
				return undefined;
			}
			case "call": {
				const [function_, arguments_] = fields(node, "function", "arguments");
				if (isRecording && arguments_) this.visit(arguments_, scope);
				if (!function_) return undefined;
				if (isRecording && arguments_) this.#quotedTypes(function_, arguments_, scope);
				const base = this.draft.text(function_) === "super" && scope.owner;
				if (base) {
					const parent = this.bases.get(JSON.stringify(base));
					return parent && chainOf({ ...parent, side: parent.path ? parent.side : "instance" });
				}
				return called(this.reach(function_, scope, isRecording));
			}
			case "await":
			case "parenthesized_expression": {
				const [inner, other] = node.children;
				if (!inner || other) break;
				return this.reach(inner, scope, isRecording);
			}
			case "subscript": {
				const [value, ...keys] = node.children;
				if (!value) return undefined;
				const { element } = this.#valueOf(value, scope);
				if (isRecording) {
					this.draft.record(
						this.reach(value, scope, true),
						value.type === "call" ? "call" : "read",
					);
					for (const key of keys) this.visit(key, scope);
				}
				return element && chainOf(element);
			}
		}
		if (isRecording) {
			if (CHAINS.test(node.type)) this.expressions(node, scope);
			else this.visit(node, scope);
		}
		return undefined;
	}

	/** `cast("Type", value)` and `TypeVar("T", bound="Type")` name types in strings. */
	#quotedTypes(function_: SyntaxNode, arguments_: SyntaxNode, scope: Scope): void {
		const name = this.draft.text(function_).replace(/^.*\./s, "");
		const [first] = arguments_.children;
		if (name === "cast" && first?.type === "string") this.type(first, scope);
		if (name !== "TypeVar") return;
		for (const argument of arguments_.children) {
			const [key, value] = fields(argument, "name", "value");
			const isBound = key !== undefined && this.draft.text(key) === "bound";
			if (isBound && value?.type === "string") this.type(value, scope);
		}
	}

	protected named(name: string, start: number, scope: Scope): ModuleChain | undefined {
		const found = scope.find(name);
		if (!found || this.#isEarlier(found, name, start, scope)) {
			if (this.stars.length === 0) return undefined;
			return { bindings: this.stars, side: "value", steps: [{ name, at: this.draft.at(start) }] };
		}
		const loaded = this.loaded.get(name);
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

	#moduleBinding(path: string, start: number): number {
		return this.draft.namespace(this.draft.request(path, start), start);
	}

	protected access(
		chain: ModuleChain | undefined,
		name: string,
		start: number,
	): ModuleChain | undefined {
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
		return CHAINS.test(node.type) ? { type: typeOf(this.reach(node, scope, false)) } : {};
	}

	readonly #decorators = new Map<
		SyntaxNode,
		{ readonly names: readonly string[]; readonly start: number }
	>();

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
		if (definition) this.#decorators.set(definition, { names, start: decorated.start });
	}

	decoratorsOf(node: SyntaxNode): readonly string[] {
		return this.#decorators.get(node)?.names ?? [];
	}

	/** Offset of the definition with its decorators. */
	startOf(node: SyntaxNode): number {
		return this.#decorators.get(node)?.start ?? node.start;
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

	/** Names in annotations, also in quoted ones. */
	protected type(node: SyntaxNode, scope: Scope): void {
		if (node.type === "identifier" || node.type === "attribute") {
			this.draft.record(this.reach(node, scope, true), "type");
		} else if (node.type === "string") this.#quoted(node, scope);
		else if (node.type === "call") this.visit(node, scope);
		else {
			const isLiteral = /^(?:\w+\.)?Literal\[/.test(this.draft.text(node));
			for (const inner of node.children)
				if (!isLiteral || inner.type !== "type_parameter") this.type(inner, scope);
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
					chain = index === 0 ? this.named(name, at, scope) : chain && this.access(chain, name, at);
					at += name.length + 1;
				}
				this.draft.record(chain, "type");
			}
		}
	}

	protected typeParameters(node: SyntaxNode, inner: Scope): void {
		const isWrapped =
			node.type === "type_parameter" || node.type === "type" || node.type === "constrained_type";
		if (node.type === "identifier")
			inner.add(this.draft.text(node), { unknown: true, scope: inner });
		else if (node.type === "constrained_type") {
			const [name, bound] = node.children;
			if (name) this.typeParameters(name, inner);
			if (bound) this.type(bound, inner);
		} else if (isWrapped) for (const part of node.children) this.typeParameters(part, inner);
	}
}
