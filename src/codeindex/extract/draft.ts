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

export interface Draft {
	readonly source: string;
	readonly positions: Positions;
	readonly requests: (Request & { kinds: EdgeKind[] })[];
	readonly bindings: (Declared | Imported | Pending)[];
	readonly exports: Export[];
	readonly references: Reference[];
	readonly looseAccesses: Map<string, number>;
	readonly top: Scope;
	/** Nodes the walk skips. */
	readonly done: Set<Node>;
	/** Nameless bindings, by request and imported name. */
	readonly nameless: Map<string, number>;
	/** Bindings declared by an assignment to `exports.a`. */
	readonly commonJsNames: Map<string, number>;
	/** Exports of namespaces, by path: merged declarations share them. */
	readonly spaces: Map<string, Scope>;
	/** First argument types of callbacks. */
	readonly given: Map<Node, TypeName>;
	/** Declared types of object literals. */
	readonly expected: Map<Node, TypeName>;
	/** Values of methods: their `this` is the class. */
	readonly methods: Set<Node>;
	/** External names of classes and object literals: `export default class`, `const A = class`. */
	readonly owners: Map<Node, TypeName>;
	readonly entered: Map<Node, Scope>;
	readonly isJavaScript: boolean;
	readonly isDeclaration: boolean;
	isModule: boolean;
	/** A CommonJS construct was seen. */
	commonJs: boolean;
}

export interface Place {
	readonly draft: Draft;
	readonly scope: Scope;
}

export interface Pending {
	readonly kind: "pending";
	readonly name: string;
	readonly declarations: Declaration[];
}

export interface Declaration {
	readonly symbol: SymbolKind;
	readonly id: Identifier;
	/** The declaring node; for a default expression, the expression. */
	readonly node: Node;
	/** Start of the statement, with `export` and decorators: a doc comment precedes it. */
	readonly from: number;
	/** Destructured properties from the initialiser to the variable. */
	readonly path?: readonly string[];
}

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

/** Adds `kind` to the request and returns its index. */
export function request(draft: Draft, specifier: string, kind: EdgeKind, offset: number): number {
	const index = draft.requests.findIndex((known) => known.specifier === specifier);
	const known = draft.requests[index];
	if (!known) {
		return draft.requests.push({ specifier, kinds: [kind], at: draft.positions.at(offset) }) - 1;
	}
	if (!known.kinds.includes(kind)) known.kinds.push(kind);
	return index;
}

/** Merges declarations of one name. Returns the binding's index. */
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

export function declareHidden(draft: Draft, declaration: Declaration): number {
	const { name } = declaration.id;
	return draft.bindings.push({ kind: "pending", name, declarations: [declaration] }) - 1;
}

export function addImport(
	draft: Draft,
	{ scope, ...binding }: Omit<Imported, "kind" | "at"> & { at: number; scope?: Scope },
): number {
	const at = draft.positions.at(binding.at);
	const index = draft.bindings.push({ kind: "imported", ...binding, at }) - 1;
	scope?.names.set(binding.name, { kind: "binding", binding: index, meaning: ANY });
	return index;
}

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

/** Offsets to lines and columns. Only "\n" ends a line, as everywhere in this project. */
export interface Positions {
	/** A trailing empty line does not count. */
	readonly lines: number;
	at(offset: number): Position;
	line(offset: number): number;
}

export function positionsOf(source: string): Positions {
	const starts = [0];
	for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) {
		starts.push(at + 1);
	}
	// Most lookups hit the last line or the next.
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
