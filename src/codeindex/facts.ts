import type { EdgeKind, SymbolKind, UsageKind } from "../text/kinds.ts";

export type { EdgeKind, SymbolKind, UsageKind };

/**
 * What one source file says by itself, before any other file is looked at: the seam between parsing (`extract/`),
 * storing (`store/`) and linking (`link/`). Facts are plain data, so that they cross threads and can be compared.
 */
export interface FileFacts {
	/** `broken`: the parser gave up or recovered from errors; what could be understood is here all the same. */
	readonly status: "parsed" | "broken";
	readonly problem?: string;
	/** Whether it has imports or exports of any kind; the top level of other files is global to the project. */
	readonly isModule: boolean;
	readonly lines: number;
	/** Every other module it names, each specifier once. Imports and exports point into this list. */
	readonly requests: readonly Request[];
	/** Names of its top level, then what functions inside import. References and exports point into this list. */
	readonly bindings: readonly Binding[];
	readonly exports: readonly Export[];
	readonly references: readonly Reference[];
	/** How often each property name is accessed on something whose type this file does not tell. */
	readonly looseAccesses: ReadonlyMap<string, number>;
}

/** A place in a file: line and column from 1, columns in UTF-16 units. */
export type Position = readonly [line: number, column: number];

/** A module specifier as written. */
export interface Request {
	readonly specifier: string;
	readonly kinds: readonly EdgeKind[];
	readonly at: Position;
}

/** A name of the file's top level. */
export type Binding = Declared | Imported;

/**
 * Something declared here. Declarations of one name are one binding, as TypeScript merges them: overloads, interfaces,
 * a class and its namespace, also a type and a constant. `exports.a = 1` declares too.
 */
export interface Declared {
	readonly kind: "declared";
	/** `default` for an anonymous default export. */
	readonly name: string;
	/** A constant that holds a function or a class counts as one. */
	readonly symbol: SymbolKind;
	/** Where its name stands; an anonymous default export has the place of `default`. */
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	readonly endLine: number;
	/** Its head on one line without the body, at most 200 characters. */
	readonly signature: string;
	/** The first sentence of its doc comment, at most 200 characters. */
	readonly doc?: string;
	/**
	 * What it extends or implements, as far as that is a name; of a type alias, the names it is made of. The side is
	 * that of an instance: static members are found on the value side of the same names.
	 */
	readonly heritage?: readonly TypeName[];
	/** Of a variable its type, of a function what it returns (promises unwrapped), if that is a name. */
	readonly type?: TypeName;
	/** Of a class, interface, enum, namespace or object literal. */
	readonly members?: readonly Member[];
}

/**
 * A name brought in from another module: by `import`, and by `const a = require("x")`, `const { a } = require("x")`,
 * `const a = await import("x")`, at any depth. Where a module is used without a name, as in `import("x").T`,
 * `(await import("x")).a`, `require("x").a` or `declare module "x"`, there is one binding with the name "" for the
 * module (`imported` is `*`, or `=` for `require`), and references to it have no place, only steps.
 */
export interface Imported {
	readonly kind: "imported";
	readonly name: string;
	/** Index into `requests`. */
	readonly request: number;
	/** The exported name, `default`, `*` for the namespace, or `=` for all of a CommonJS module. */
	readonly imported: string;
	readonly typeOnly: boolean;
	/** Where the local name stands; of a binding without a name, the specifier. */
	readonly at: Position;
	/** Where the exported name stands, if it is written apart: `a` of `a as b`. */
	readonly importedAt?: Position;
}

/** Something that is reached with a dot. */
export interface Member {
	readonly name: string;
	/** A property that holds a function, or has a function type, is a `method`. */
	readonly symbol: "method" | "property" | "enum" | SymbolKind;
	/**
	 * Reached through the thing itself, its value side: static members of classes, all members of enums, namespaces and
	 * object literals. The others are reached through an instance, or a value of the type.
	 */
	readonly static: boolean;
	readonly at: Position;
	readonly alsoAt?: readonly Position[];
	readonly endLine: number;
	readonly signature: string;
	/** As of {@link Declared}. */
	readonly type?: TypeName;
	/** Of an object literal or namespace inside. */
	readonly members?: readonly Member[];
}

/** A type written as a name of this file: `Foo`, `ns.Foo`, `typeof foo`. */
export interface TypeName {
	/** Index into `bindings`. */
	readonly binding: number;
	/**
	 * `instance`: what `new Foo` or, of a function, `foo()` gives, or a value of type Foo. `value`: the thing named
	 * itself. With a path: where its first name is looked up.
	 */
	readonly side: "instance" | "value";
	/** Further names after dots, and calls of them. The type `ns.Foo` is `value` of `ns`, path `Foo` with `called`. */
	readonly path?: readonly Step[];
}

export type Export =
	/** `export const a`, `export { a as b }`, `export default a`, `exports.a = a`; name `=` for `module.exports = a`. */
	| {
			readonly kind: "local";
			readonly name: string;
			/** Index into `bindings`. */
			readonly binding: number;
			/** Places of the name in an export list: of `a as b` both, of `exports.b = a` and `{ b: a }` only `a`. */
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

/**
 * A use of a binding, or of something reached through it. `fmt.bold(x)` is a use of `fmt` with the step `bold`;
 * `this.log.warn()` in class C has no place of its own for C, and the steps `log`, `warn`.
 */
export interface Reference {
	/** Index into `bindings`. */
	readonly binding: number;
	/** Where the binding's name stands; absent where only its type is known: `this`, a variable of that type. */
	readonly at?: Position;
	/** How the last of its steps, or the binding without any, is used. */
	readonly usage: UsageKind;
	/** Which side of the binding the first step is looked up on. Absent without steps. */
	readonly side?: "instance" | "value";
	/** At most four. */
	readonly steps?: readonly Step[];
}

export interface Step {
	readonly name: string;
	/** Absent where the name is not written: in the path of a {@link TypeName}, or in what came from one. */
	readonly at?: Position;
	/** It is called or constructed, or names a type; the next step is looked up on what that gives. */
	readonly called?: true;
}
