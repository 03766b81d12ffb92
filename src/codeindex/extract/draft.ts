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
import { ANY, inside, type Scope, TYPE, VALUE } from "./scope.ts";

/** The facts of a file while they are collected. */
export interface Draft {
	readonly source: string;
	readonly positions: Positions;
	readonly requests: (Request & { kinds: EdgeKind[] })[];
	readonly bindings: (Declared | Imported | Pending)[];
	readonly exports: Export[];
	readonly references: Reference[];
	readonly looseAccesses: Map<string, number>;
	readonly top: Scope;
	/** Nodes that are done, which the walk skips. */
	readonly done: Set<Node>;
	/** The bindings without a name, by request and what they import. */
	readonly nameless: Map<string, number>;
	/** What `exports.a` stands for, where the assignment itself declares it. */
	readonly commonJsNames: Map<string, number>;
	/** What namespaces export, by the path to them: merged declarations see each other's names. */
	readonly spaces: Map<string, Scope>;
	/** The first argument of callbacks. */
	readonly given: Map<Node, TypeName>;
	/** The types that are written for object literals. */
	readonly expected: Map<Node, TypeName>;
	/** The values of methods: in them, `this` is what the class around says. */
	readonly methods: Set<Node>;
	/** The names of classes and object literals from outside: `export default class`, `const A = class`. */
	readonly owners: Map<Node, TypeName>;
	/** The scopes inside namespaces, by their bodies. */
	readonly entered: Map<Node, Scope>;
	readonly isJavaScript: boolean;
	readonly isDeclaration: boolean;
	/** Whether there is an `import` or `export`. */
	isModule: boolean;
	/** Whether something only modules have was seen besides `import` and `export`. */
	commonJs: boolean;
}

/** Where an expression or type stands: its file, and the scope that its names are looked up in. */
export interface Place {
	readonly draft: Draft;
	readonly scope: Scope;
}

/** A declared name whose declarations are not described yet. */
export interface Pending {
	readonly kind: "pending";
	readonly name: string;
	readonly declarations: Declaration[];
}

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

/** An empty draft for a source in one of the parser's languages. */
export function newDraft(source: string, positions: Positions, language: string): Draft {
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
		isJavaScript: language === "jsx",
		isDeclaration: language === "dts",
		isModule: false,
		commonJs: false,
	};
}

/** The index of a request, with one more way it is asked for. */
export function request(draft: Draft, specifier: string, kind: EdgeKind, offset: number): number {
	const index = draft.requests.findIndex((known) => known.specifier === specifier);
	const known = draft.requests[index];
	if (!known) {
		return draft.requests.push({ specifier, kinds: [kind], at: draft.positions.at(offset) }) - 1;
	}
	if (!known.kinds.includes(kind)) known.kinds.push(kind);
	return index;
}

/** Adds a declaration to the top level, merging it with others of the name. Returns the binding's index. */
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

/** Adds a declaration that no bare name reaches, such as an anonymous default export. */
export function declareHidden(draft: Draft, declaration: Declaration): number {
	const { name } = declaration.id;
	return draft.bindings.push({ kind: "pending", name, declarations: [declaration] }) - 1;
}

/** Adds an import whose name stands at an offset. With a scope, the name is declared there. */
export function addImport(
	draft: Draft,
	{ scope, ...binding }: Omit<Imported, "kind" | "at"> & { at: number; scope?: Scope },
): number {
	const at = draft.positions.at(binding.at);
	const index = draft.bindings.push({ kind: "imported", ...binding, at }) - 1;
	scope?.names.set(binding.name, { kind: "binding", binding: index, meaning: ANY });
	return index;
}

/** The nameless binding of a whole module, added on first use. */
export function namelessImport(
	draft: Draft,
	index: number,
	imported: "*" | "=",
	at: number,
): number {
	const key = `${index}${imported}`;
	const known = draft.nameless.get(key);
	if (known !== undefined) return known;
	const added = addImport(draft, { name: "", request: index, imported, typeOnly: false, at });
	draft.nameless.set(key, added);
	return added;
}

/** The nameless binding of a module that a type asks for, as in `import("x").T`. */
export function typeImport(draft: Draft, specifier: string, at: number): number {
	return namelessImport(draft, request(draft, specifier, "type", at), "*", at);
}

export const MEANING = {
	function: VALUE,
	variable: VALUE,
	class: VALUE | TYPE,
	enum: ANY,
	namespace: ANY & ~TYPE,
	interface: TYPE,
	type: TYPE,
} as const;

/** Finds lines and columns of offsets. Lines end with "\n" only, as everywhere in this project. */
export interface Positions {
	/** How many lines the text has; an empty one at its end does not count. */
	readonly lines: number;
	at(offset: number): Position;
	line(offset: number): number;
}

export function positionsOf(source: string): Positions {
	const starts = [0];
	for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) {
		starts.push(at + 1);
	}
	// Most lookups are for the line of the one before, or the next line.
	let last = 0;
	const find = (offset: number): number => {
		if (offset < start(last)) last = search(0, last, offset);
		else if (offset >= start(last + 1)) {
			last = offset < start(last + 2) ? last + 1 : search(last + 2, starts.length, offset);
		}
		return last;
	};
	const start = (line: number): number => starts[line] ?? Number.POSITIVE_INFINITY;
	const search = (from: number, to: number, offset: number): number => {
		let [low, high] = [from, to];
		while (high - low > 1) {
			const middle = (low + high) >> 1;
			if (start(middle) <= offset) low = middle;
			else high = middle;
		}
		return low;
	};
	return {
		lines: starts.at(-1) === source.length ? starts.length - 1 : starts.length,
		at: (offset) => {
			const line = find(offset);
			return [line + 1, offset - start(line) + 1];
		},
		line: (offset) => find(offset) + 1,
	};
}
