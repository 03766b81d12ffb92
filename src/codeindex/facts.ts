import type { EdgeKind, SymbolKind, UsageKind } from "../text/kinds.ts";

export type { EdgeKind, SymbolKind, UsageKind };

/** Facts of one source file, before linking. Plain data: crosses threads and compares by value. */
export interface FileFacts {
	/** `broken`: the parser failed or recovered; partial facts are kept. */
	readonly status: "parsed" | "broken";
	readonly problem?: string;
	/** Whether the file has imports or exports of any kind. If not, its top level is global. */
	readonly isModule: boolean;
	readonly lines: number;
	/** One per specifier. Imports and exports hold its index. */
	readonly requests: readonly ModuleRequest[];
	/** Top-level names, then imports inside functions. References and exports hold its indexes. */
	readonly bindings: readonly Binding[];
	readonly exports: readonly Export[];
	readonly references: readonly Reference[];
	/** Number of accesses on values of unknown type, by property name. */
	readonly looseAccesses: ReadonlyMap<string, number>;
}

/** 1-based; columns in UTF-16 units. */
export type Position = readonly [line: number, column: number];

export interface ModuleRequest {
	readonly specifier: string;
	readonly kinds: readonly EdgeKind[];
	readonly at: Position;
}

export type Binding = Declared | Imported;

/** All declarations of one name, merged as in TypeScript. `exports.a = 1` is a declaration too. */
export interface Declared {
	readonly kind: "declared";
	/** `default` for an anonymous default export. */
	readonly name: string;
	/** A constant that holds a function or class is of that kind. */
	readonly symbol: SymbolKind;
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	readonly endLine: number;
	/** One line without the body, at most 200 characters. */
	readonly signature: string;
	/** First sentence of the doc comment, at most 200 characters. */
	readonly doc?: string;
	/** Types it extends or implements, or an alias consists of. Statics are on their value side. */
	readonly heritage?: readonly TypeName[];
	/** The type of a variable or of a function's result (promises unwrapped), if that is a name. */
	readonly type?: TypeName;
	readonly members?: readonly Member[];
}

/**
 * A name imported by `import`, `require("x")` or `await import("x")`, at any depth. A module used
 * without a name (`import("x").T`, `require("x").a`, `declare module "x"`) is one binding named ""
 * with `imported` `*` or, for `require`, `=`. References to it have steps but no position.
 */
export interface Imported {
	readonly kind: "imported";
	readonly name: string;
	readonly request: number;
	/** A name, `default`, `*` for the namespace, or `=` for a whole CommonJS module. */
	readonly imported: string;
	readonly typeOnly: boolean;
	/** Position of the local name or, if there is none, of the specifier. */
	readonly at: Position;
	/** Position of the exported name, if separate: `a` of `a as b`. */
	readonly importedAt?: Position;
}

export interface Member {
	readonly name: string;
	/** A property that holds a function, or has a function type, is a `method`. */
	readonly symbol: "method" | "property" | "enum" | SymbolKind;
	/** True on the value side: class statics, all members of enums, namespaces, object literals. */
	readonly static: boolean;
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	readonly endLine: number;
	readonly signature: string;
	readonly type?: TypeName;
	readonly members?: readonly Member[];
}

export interface TypeName {
	readonly binding: number;
	/**
	 * `instance`: the result of `new Foo` or `foo()`, or a value of type Foo. `value`: the thing
	 * itself. With a path, this is the side on which its first name is looked up.
	 */
	readonly side: "instance" | "value";
	/** Steps after the binding. The type `ns.Foo` is `value` of `ns`, path `Foo` with `called`. */
	readonly path?: readonly Step[];
}

export type Export =
	/** `export { a }`, `export default a`, `exports.a = a`; `module.exports = a` has the name `=`. */
	| {
			readonly kind: "local";
			readonly name: string;
			readonly binding: number;
			/** Positions of the exported name: `a` and `b` of `a as b`, only `a` of `exports.b = a`. */
			readonly at?: readonly Position[];
			readonly typeOnly: boolean;
	  }
	/** `export { a as b } from`, and `export * as b from` with `imported: "*"`. */
	| {
			readonly kind: "from";
			readonly name: string;
			readonly request: number;
			readonly imported: string;
			readonly at: readonly Position[];
			readonly typeOnly: boolean;
	  }
	/** `export * from` */
	| { readonly kind: "star"; readonly request: number; readonly typeOnly: boolean };

/** `fmt.bold(x)` uses `fmt` with the step `bold`. `this.log.warn()` has no position, only steps. */
export interface Reference {
	readonly binding: number;
	/** Absent if the binding is not written here, but is the type of `this` or of a variable. */
	readonly at?: Position;
	/** How the last step is used or, without steps, the binding itself. */
	readonly usage: UsageKind;
	/** The side on which the first step is looked up. Absent without steps. */
	readonly side?: "instance" | "value";
	/** At most four. */
	readonly steps?: readonly Step[];
}

export interface Step {
	readonly name: string;
	/** Absent if not in the source: a step in the path of a {@link TypeName}, or derived from one. */
	readonly at?: Position;
	/** Set if called, constructed or named as a type: the next step is looked up on the result. */
	readonly called?: true;
}
