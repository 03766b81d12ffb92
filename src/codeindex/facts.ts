import type { EdgeKind, SymbolKind, UsageKind } from "../text/kinds.ts";

export type { EdgeKind, SymbolKind, UsageKind };

/** Facts of one source file, before linking. Plain data that can cross threads and be compared by value. */
export interface FileFacts {
	/** `broken`: the parser failed, or recovered from an error. Partial facts are kept. */
	readonly status: "parsed" | "broken";
	readonly problem?: string;
	/** Set if only declarations, imports and exports were read. */
	readonly isSkeleton?: true;
	/** Whether the file has imports or exports of any kind. If not, its top-level names are global. */
	readonly isModule: boolean;
	readonly lines: number;
	/** One request per specifier. Imports and exports refer to it by index. */
	readonly requests: readonly ModuleRequest[];
	/** Top-level names, then imports inside functions. References and exports refer to them by index. */
	readonly bindings: readonly Binding[];
	readonly exports: readonly Export[];
	readonly references: readonly Reference[];
	/** Number of accesses on values of unknown type, by property name. */
	readonly looseAccesses: ReadonlyMap<string, number>;
}

/** Both are 1-based. Columns count UTF-16 code units. */
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
	/** A constant that holds a function or class has that kind. */
	readonly symbol: SymbolKind;
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	/** First line with decorators, attributes and what else stands before the name. Absent if it is the line of `at`. */
	readonly startLine?: number;
	readonly endLine: number;
	/** One line without the body, at most 200 characters. */
	readonly signature: string;
	/** First sentence of the doc comment, at most 200 characters. */
	readonly doc?: string;
	/** Types that it extends or implements, or that an alias consists of. Their value side has the statics. */
	readonly heritage?: readonly TypeName[];
	/** The type of a variable or of a function's result, if it is a name. Promises are unwrapped. */
	readonly type?: TypeName;
	/** Of a function, or of a class's constructor. Absent if there are overloads. */
	readonly parameters?: readonly Parameter[];
	readonly members?: readonly Member[];
	/** Only adds members to a type of this name, which another file of the package declares. */
	readonly partial?: true;
}

/**
 * A name imported by `import`, `require("x")` or `await import("x")`, at any nesting depth. A module used
 * without a local name (`import("x").T`, `require("x").a`, `declare module "x"`) is one binding named "".
 * Its `imported` is `=` for `require`, otherwise `*`. References to it have steps but no position.
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
	/** Position of the exported name if it is written separately: `a` in `a as b`. */
	readonly importedAt?: Position;
	/** Stands for the binding before it where that one does not resolve: a submodule for `from package import name`. */
	readonly fallback?: true;
}

export interface Member {
	readonly name: string;
	/** A property that holds a function, or has a function type, is a `method`. */
	readonly symbol: "method" | "property" | "enum" | SymbolKind;
	/** True on the value side: for class statics and all members of enums, namespaces and object literals. */
	readonly static: boolean;
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	/** As of {@link Declared}. */
	readonly startLine?: number;
	readonly endLine: number;
	readonly signature: string;
	/** As of {@link Declared}. */
	readonly doc?: string;
	readonly type?: TypeName;
	/** Of a method, as of {@link Declared}. */
	readonly parameters?: readonly Parameter[];
	readonly members?: readonly Member[];
}

/** A parameter whose type is a name. Others are not listed. */
export interface Parameter {
	readonly index: number;
	readonly type: TypeName;
}

export interface TypeName {
	readonly binding: number;
	/**
	 * `instance`: the result of `new Foo` or `foo()`, or a value of type Foo. `value`: Foo itself.
	 * If there is a path, its first name is looked up on this side.
	 */
	readonly side: "instance" | "value";
	/** Steps after the binding. The type `ns.Foo` is `ns` with side `value` and the `called` step `Foo`. */
	readonly path?: readonly Step[];
}

export type Export =
	/**
	 * `export { a }`, `export default a`, `exports.a = a`, or `module.exports = a`, which is named `=`. `+a` adds members
	 * to the type `a` of the package. `/a` is a submodule, which every other name hides.
	 */
	| {
			readonly kind: "local";
			readonly name: string;
			readonly binding: number;
			/** Positions of the names in it: `a` and `b` in `a as b`, but only `a` in `exports.b = a`. */
			readonly at?: readonly Position[];
			readonly typeOnly: boolean;
	  }
	/** `export { a as b } from`, or `export * as b from`, which has `imported: "*"`. */
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

/** A use of a binding: `fmt.bold(x)` uses `fmt` with the step `bold`. `this.log.warn()` has no position. */
export interface Reference {
	readonly binding: number;
	/** Absent if the binding is not written here because it is the type of `this` or of a variable. */
	readonly at?: Position;
	/** How the last step is used or, without steps, the binding itself. */
	readonly usage: UsageKind;
	/** The side on which the first step is looked up. Absent without steps. */
	readonly side?: "instance" | "value";
	/** At most four steps. */
	readonly steps?: readonly Step[];
}

export interface Step {
	/** `(0` is the first parameter, `(1` the second: a step to its declared type. */
	readonly name: string;
	/** Absent if the step is not in the source, but part of a {@link TypeName} or derived from one. */
	readonly at?: Position;
	/** Set if the step is called, constructed or a type. The next step is then looked up on the result. */
	readonly called?: true;
}
