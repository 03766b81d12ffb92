import type { EdgeKind, SymbolKind, UsageKind } from "../text/kinds.ts";

export type { EdgeKind, SymbolKind, UsageKind };

/** Facts of one source file, before linking. Plain data: crosses threads, compares by value. */
export interface FileFacts {
	/** `broken`: the parser failed or recovered; partial facts are kept. */
	readonly status: "parsed" | "broken";
	readonly problem?: string;
	/** Has imports or exports of any kind. The top level of other files is global. */
	readonly isModule: boolean;
	readonly lines: number;
	/** Unique specifiers. Imports and exports index into it. */
	readonly requests: readonly ModuleRequest[];
	/** Top-level names, then imports inside functions. References and exports index into it. */
	readonly bindings: readonly Binding[];
	readonly exports: readonly Export[];
	readonly references: readonly Reference[];
	/** Accesses per property name on values of unknown type. */
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

/** Merges declarations of one name as TypeScript does. `exports.a = 1` declares too. */
export interface Declared {
	readonly kind: "declared";
	/** `default` for an anonymous default export. */
	readonly name: string;
	/** A constant that holds a function or class counts as one. */
	readonly symbol: SymbolKind;
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	readonly endLine: number;
	/** One line without the body, at most 200 characters. */
	readonly signature: string;
	/** First sentence, at most 200 characters. */
	readonly doc?: string;
	/** Names it extends, implements or, for a type alias, consists of. Their value side is static. */
	readonly heritage?: readonly TypeName[];
	/** A variable's type or a function's result (promises unwrapped), if it is a name. */
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
	/** Position of the local name; without a name, of the specifier. */
	readonly at: Position;
	/** Position of the exported name, if separate: `a` of `a as b`. */
	readonly importedAt?: Position;
}

export interface Member {
	readonly name: string;
	/** A property that holds a function, or has a function type, is a `method`. */
	readonly symbol: "method" | "property" | "enum" | SymbolKind;
	/** On the value side: class statics, and all members of enums, namespaces and object literals. */
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
	 * itself. With a path: the side of its first name.
	 */
	readonly side: "instance" | "value";
	/** Steps after the binding. The type `ns.Foo` is `value` of `ns`, path `Foo` with `called`. */
	readonly path?: readonly Step[];
}

export type Export =
	/** Also `export default a` and `exports.a = a`; name `=` for `module.exports = a`. */
	| {
			readonly kind: "local";
			readonly name: string;
			readonly binding: number;
			/** Positions in an export list: both of `a as b`, only `a` of `exports.b = a`. */
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
	/** Absent where only the type is known: `this`, or a variable of that type. */
	readonly at?: Position;
	/** Use of the last step, or of the binding itself. */
	readonly usage: UsageKind;
	/** Where the first step is looked up. Absent without steps. */
	readonly side?: "instance" | "value";
	/** At most four. */
	readonly steps?: readonly Step[];
}

export interface Step {
	readonly name: string;
	/** Absent if not written: in the path of a {@link TypeName}, or derived from one. */
	readonly at?: Position;
	/** Called, constructed or named as a type: the next step is looked up on the result. */
	readonly called?: true;
}
