import { getOrAdd } from "../../core/get-or-add.ts";
import type {
	Declared,
	EdgeKind,
	Export,
	Imported,
	ModuleRequest,
	Position,
	Reference,
	SymbolKind,
	TypeName,
} from "../facts.ts";
import type { Assigned } from "./assigned-members.ts";
import type { Key, Node } from "./ast.ts";
import { ANY, type LocalName, Scope, TYPE, VALUE } from "./scope.ts";

export class FactsBuilder {
	readonly source: string;
	readonly positions: Positions;
	readonly isJavaScript: boolean;
	readonly isDeclaration: boolean;
	readonly requests: (ModuleRequest & { kinds: EdgeKind[] })[] = [];
	readonly bindings: (Declared | Imported | PendingBinding)[] = [];
	readonly exports: Export[] = [];
	readonly references: Reference[] = [];
	readonly looseAccesses = new Map<string, number>();
	readonly top = new Scope(undefined, { isFunction: true, self: null, base: null });
	/** Nodes already handled, which the walk skips. */
	readonly done = new Set<Node>();
	/** Bindings without a name, by request and imported name. */
	readonly nameless = new Map<string, number>();
	/** Bindings that CommonJS exports such as `exports.a = 1` declare, by name. */
	readonly commonJsNames = new Map<string, number>();
	/** Exported names of namespaces, by path. Merged declarations share a scope. */
	readonly namespaces = new Map<string, Scope>();
	/** Declaring nodes of top-level names, by binding. */
	readonly declaring = new Map<number, readonly Node[]>();
	/** Type of a callback's first argument, by callback. */
	readonly callbackArguments = new Map<Node, TypeName>();
	/** Declared types of object literals. */
	readonly expected = new Map<Node, TypeName>();
	/** Object literals of declared names whose type is written: their keys may be members of another type. */
	readonly undecided = new Set<Node>();
	/** Functions that are methods: their `this` is the class or object. */
	readonly methods = new Set<Node>();
	/** Functions in the object that is `module.exports`: their `this` has the exports. */
	readonly methodsOfExports = new Set<Node>();
	/** Bindings of functions and classes that are exported as values and have names of their own: `module.exports = class A {}`. */
	readonly ownNames = new Map<Node, number>();
	/** Members that statements add to a binding. */
	readonly assigned = new Map<number, Assigned[]>();
	/** Places where they are declared. */
	readonly memberTargets = new Set<Node>();
	/** Type of `this` in functions that are assigned to a member, or that make instances. */
	readonly selves = new Map<Node, TypeName>();
	/** Types of declared or exported classes and object literals: `A` for `const A = class {}`. */
	readonly owners = new Map<Node, TypeName>();
	readonly entered = new Map<Node, Scope>();
	/** Names inside of functions that run at once; see `inner-exports.ts`. */
	readonly innerNames = new Map<
		LocalName,
		{ declaration: Declaration; statements: readonly Node[] }
	>();
	/** Bindings of those that are exported, by the statements that declare them. */
	readonly innerBindings = new Map<readonly Node[], Map<string, number>>();
	isModule = false;
	commonJs = false;

	constructor(source: string, positions: Positions, language: string) {
		this.source = source;
		this.positions = positions;
		this.isJavaScript = language === "jsx";
		this.isDeclaration = language === "dts";
	}

	/** Adds a request, or `kind` to the existing one. Returns its index. */
	request(specifier: string, kind: EdgeKind, offset: number): number {
		const index = this.requests.findIndex((known) => known.specifier === specifier);
		const known = this.requests[index];
		if (!known) {
			return this.requests.push({ specifier, kinds: [kind], at: this.positions.at(offset) }) - 1;
		}
		if (!known.kinds.includes(kind)) known.kinds.push(kind);
		return index;
	}

	/** Merges declarations of one name. Returns the binding's index. */
	declareTop(declaration: Declaration, meaning: number): number {
		const { name } = declaration.id;
		const known = this.top.names.get(name);
		if (known?.kind === "binding") {
			const binding = this.bindings[known.binding];
			if (binding?.kind === "pending") {
				binding.declarations.push(declaration);
				known.meaning |= meaning;
				return known.binding;
			}
		}
		const binding = this.declareHidden(declaration);
		this.top.names.set(name, { kind: "binding", binding, meaning });
		return binding;
	}

	declareHidden(declaration: Declaration): number {
		const { name } = declaration.id;
		return this.bindings.push({ kind: "pending", name, declarations: [declaration] }) - 1;
	}

	addImport({ scope, at: start, importedAt = start, ...binding }: NewImport): number {
		const at = this.positions.at(start);
		const apart = importedAt !== start && { importedAt: this.positions.at(importedAt) };
		const index = this.bindings.push({ kind: "imported", ...binding, at, ...apart }) - 1;
		scope?.names.set(binding.name, { kind: "binding", binding: index, meaning: ANY });
		return index;
	}

	namelessImport(request: number, imported: "*" | "=", at: number): number {
		return getOrAdd(this.nameless, `${request}${imported}`, () =>
			this.addImport({ name: "", request, imported, typeOnly: false, at }),
		);
	}

	typeImport(specifier: string, at: number): number {
		return this.namelessImport(this.request(specifier, "type", at), "*", at);
	}
}

type NewImport = Omit<Imported, "kind" | "at" | "importedAt"> & {
	readonly at: number;
	readonly importedAt?: number | undefined;
	readonly scope?: Scope;
};

export interface Place {
	readonly facts: FactsBuilder;
	readonly scope: Scope;
}

export interface PendingBinding {
	readonly kind: "pending";
	readonly name: string;
	readonly declarations: Declaration[];
}

export interface Declaration {
	readonly symbol: SymbolKind;
	readonly id: Key;
	/** The declaring node. For `export default value` and `exports.a = value`, the value. */
	readonly node: Node;
	/** Start of the statement, including `export` and decorators. A doc comment ends before it. */
	readonly from: number;
	/** Properties that destructuring reads from the initialiser. */
	readonly path?: readonly string[];
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

/** Converts offsets to lines and columns. Only "\n" ends a line, as everywhere in this project. */
export function positionsOf(source: string) {
	const starts = [0];
	for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) {
		starts.push(at + 1);
	}
	// Most lookups hit the line of the previous lookup or the line after it.
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
