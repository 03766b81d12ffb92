import type {
	Declared,
	EdgeKind,
	Export,
	Imported,
	Position,
	Reference,
	Request,
	SymbolKind,
	TypeName,
} from "../facts.ts";
import type { Identifier, Node } from "./ast.ts";
import { isJavaScript } from "./parse.ts";
import type { Positions } from "./positions.ts";
import { ANY, inside, type Scope, TYPE, VALUE } from "./scope.ts";

/** The facts of a file while they are being gathered. */
export interface Draft {
	readonly source: string;
	readonly positions: Positions;
	readonly requests: (Request & { kinds: EdgeKind[] })[];
	readonly bindings: (Declared | Imported | Pending)[];
	readonly exports: Export[];
	readonly references: Reference[];
	readonly looseAccesses: Map<string, number>;
	readonly top: Scope;
	/** Nodes that were fully dealt with, so that the walk must leave them out. */
	readonly done: Set<Node>;
	/** The bindings without a name, by request and what they import. */
	readonly nameless: Map<string, number>;
	/** What `exports.a` stands for, where the assignment itself declares it. */
	readonly commonJsNames: Map<string, number>;
	/** What namespaces export, by the path to them: merged declarations see each other's names. */
	readonly spaces: Map<string, Scope>;
	/** What callbacks are given as their first argument. */
	readonly given: Map<Node, TypeName>;
	/** What object literals must be, where a type is written for them. */
	readonly expected: Map<Node, TypeName>;
	/** The values of methods: in them, `this` is what the class around says. */
	readonly methods: Set<Node>;
	/** What classes and object literals are called from outside: `export default class`, `const A = class`. */
	readonly owners: Map<Node, TypeName>;
	/** The scopes inside namespaces, by their bodies. */
	readonly entered: Map<Node, Scope>;
	readonly isJavaScript: boolean;
	/** It only declares what exists elsewhere: `.d.ts`. */
	readonly isDeclaration: boolean;
	/** Whether there is an `import` or `export`. */
	isModule: boolean;
	/** Whether something only modules have was seen besides `import` and `export`. */
	commonJs: boolean;
}

/** A declared name whose declarations are not described yet. */
export interface Pending {
	readonly kind: "pending";
	readonly name: string;
	readonly declarations: Declaration[];
}

/** One declaration of a name of the top level. */
export interface Declaration {
	readonly symbol: SymbolKind;
	/** The name; of an anonymous default export the word `default`. */
	readonly id: Identifier;
	/** The function, class, declarator, interface, …; of a default expression, the expression. */
	readonly node: Node;
	/** Where the statement begins, `export` and decorators included: a doc comment stands before it. */
	readonly from: number;
	/** Of a destructured variable: the properties from the initialiser to it. */
	readonly path?: readonly string[];
}

/** An empty draft for a source. */
export function newDraft(path: string, source: string, positions: Positions): Draft {
	return {
		source,
		positions,
		requests: [],
		bindings: [],
		exports: [],
		references: [],
		looseAccesses: new Map(),
		top: inside(undefined, { isFunction: true, self: null, base: null }),
		done: new Set(),
		nameless: new Map(),
		commonJsNames: new Map(),
		spaces: new Map(),
		given: new Map(),
		expected: new Map(),
		methods: new Set(),
		owners: new Map(),
		entered: new Map(),
		isJavaScript: isJavaScript(path),
		isDeclaration: /\.d\.[cm]?ts$/i.test(path),
		isModule: false,
		commonJs: false,
	};
}

/** The index of a request, noting one more way it is asked for. */
export function request(draft: Draft, specifier: string, kind: EdgeKind, offset: number): number {
	const index = draft.requests.findIndex((known) => known.specifier === specifier);
	const known = draft.requests[index];
	if (!known) {
		return draft.requests.push({ specifier, kinds: [kind], at: draft.positions.at(offset) }) - 1;
	}
	if (!known.kinds.includes(kind)) known.kinds.push(kind);
	return index;
}

/** Adds a declaration to the top level, merging it with others of the name. Gives the binding's index. */
export function declareTop(draft: Draft, declaration: Declaration, meaning: number): number {
	const { name } = declaration.id;
	const known = draft.top.names.get(name);
	if (known?.kind === "binding") {
		const binding = draft.bindings[known.binding];
		if (binding?.kind === "pending") {
			binding.declarations.push(declaration);
			known.meaning |= meaning;
			return known.binding;
		}
	}
	const binding = declareHidden(draft, declaration);
	draft.top.names.set(name, { kind: "binding", binding, meaning });
	return binding;
}

/** A declaration that no bare name reaches, such as an anonymous default export. */
export function declareHidden(draft: Draft, declaration: Declaration): number {
	const { name } = declaration.id;
	return draft.bindings.push({ kind: "pending", name, declarations: [declaration] }) - 1;
}

/** Adds an import. With a scope, its name is declared there. */
export function addImport(
	draft: Draft,
	{ scope, ...binding }: Omit<Imported, "kind" | "at"> & { at: number | Position; scope?: Scope },
): number {
	const at = typeof binding.at === "number" ? draft.positions.at(binding.at) : binding.at;
	const index = draft.bindings.push({ kind: "imported", ...binding, at }) - 1;
	scope?.names.set(binding.name, { kind: "binding", binding: index, meaning: ANY });
	return index;
}

/** The nameless binding of a whole module, made when first asked for. */
export function namelessImport(
	draft: Draft,
	index: number,
	imported: "*" | "=",
	offset: number,
): number {
	const key = `${index}${imported}`;
	const known = draft.nameless.get(key);
	if (known !== undefined) return known;
	const made = addImport(draft, {
		name: "",
		request: index,
		imported,
		typeOnly: false,
		at: offset,
	});
	draft.nameless.set(key, made);
	return made;
}

/** The meanings that a declaration of a kind has. */
export const MEANING: Readonly<Record<SymbolKind, number>> = {
	function: VALUE,
	variable: VALUE,
	class: VALUE | TYPE,
	enum: ANY,
	namespace: ANY & ~TYPE,
	interface: TYPE,
	type: TYPE,
	method: VALUE,
	property: VALUE,
};
