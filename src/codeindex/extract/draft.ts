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
import { getOrAdd } from "../get-or-add.ts";
import type { Identifier, Node } from "./ast.ts";
import { ANY, inside, type Scope, TYPE, VALUE } from "./scope.ts";

/** The facts of a file while they are extracted. */
export class Draft {
	readonly source: string;
	readonly positions: Positions;
	readonly isJavaScript: boolean;
	readonly isDeclaration: boolean;
	readonly requests: (Request & { kinds: EdgeKind[] })[] = [];
	readonly bindings: (Declared | Imported | Pending)[] = [];
	readonly exports: Export[] = [];
	readonly references: Reference[] = [];
	readonly looseAccesses = new Map<string, number>();
	readonly top = inside(undefined, { isFunction: true, self: null, base: null });
	/** Nodes the walk skips. */
	readonly done = new Set<Node>();
	/** Nameless bindings, by request and imported name. */
	readonly nameless = new Map<string, number>();
	/** Bindings declared by an assignment to `exports.a`. */
	readonly commonJsNames = new Map<string, number>();
	/** Exports of namespaces, by path: merged declarations share them. */
	readonly spaces = new Map<string, Scope>();
	/** First argument types of callbacks. */
	readonly given = new Map<Node, TypeName>();
	/** Declared types of object literals. */
	readonly expected = new Map<Node, TypeName>();
	/** Values of methods: their `this` is the class. */
	readonly methods = new Set<Node>();
	/** External names of classes and object literals: `export default class`, `const A = class`. */
	readonly owners = new Map<Node, TypeName>();
	readonly entered = new Map<Node, Scope>();
	isModule = false;
	/** A CommonJS construct was seen. */
	commonJs = false;

	constructor(source: string, positions: Positions, language: string) {
		this.source = source;
		this.positions = positions;
		this.isJavaScript = language === "jsx";
		this.isDeclaration = language === "dts";
	}
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

type NewImport = Omit<Imported, "kind" | "at" | "importedAt"> & {
	readonly at: number;
	readonly importedAt?: number | undefined;
	readonly scope?: Scope;
};

export function addImport(
	draft: Draft,
	{ scope, at, importedAt = at, ...binding }: NewImport,
): number {
	const { bindings, positions } = draft;
	const apart = importedAt !== at && { importedAt: positions.at(importedAt) };
	const index = bindings.push({ kind: "imported", ...binding, at: positions.at(at), ...apart }) - 1;
	scope?.names.set(binding.name, { kind: "binding", binding: index, meaning: ANY });
	return index;
}

export function namelessImport(
	draft: Draft,
	index: number,
	imported: "*" | "=",
	at: number,
): number {
	return getOrAdd(draft.nameless, `${index}${imported}`, () =>
		addImport(draft, { name: "", request: index, imported, typeOnly: false, at }),
	);
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

export const SYMBOLS: Readonly<Record<string, keyof typeof MEANING>> = {
	FunctionDeclaration: "function",
	TSDeclareFunction: "function",
	ClassDeclaration: "class",
	TSInterfaceDeclaration: "interface",
	TSTypeAliasDeclaration: "type",
	TSEnumDeclaration: "enum",
	TSModuleDeclaration: "namespace",
};

export type Positions = ReturnType<typeof positionsOf>;

/** Offsets to lines and columns. Only "\n" ends a line, as everywhere in this project. */
export function positionsOf(source: string) {
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
		/** A trailing empty line does not count. */
		lines: starts.at(-1) === source.length ? starts.length - 1 : starts.length,
		at: (offset: number): Position => {
			const line = find(offset);
			return [line + 1, offset - start(line) + 1];
		},
		line: (offset: number) => find(offset) + 1,
	};
}
