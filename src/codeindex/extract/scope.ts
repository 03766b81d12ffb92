import type { TypeName } from "../facts.ts";
import type { FunctionNode, Identifier, Node, Of } from "./ast.ts";

/** What a name can stand for. One name can have several meanings, from one declaration or more. */
export const VALUE = 1;
export const TYPE = 2;
/** What may stand before a dot in a type: namespaces, enums, imports. */
export const SPACE = 4;
export const ANY = 7;

/**
 * A stretch of code with names of its own. All names of a scope are declared when it is entered, so that looking up
 * is right at once, hoisted names included.
 */
export interface Scope {
	readonly parent: Scope | undefined;
	readonly names: Map<string, Name>;
	/** `var` ends its way up here. */
	readonly isFunction: boolean;
	/** What `this` is. Undefined: as outside. Null: not known. */
	readonly self?: TypeName | null | undefined;
	/** What `super` is. */
	readonly base?: TypeName | null | undefined;
}

/** A declared name. */
export type Name = BindingName | MemberName | LocalName;

/** A name of {@link FileFacts.bindings}. */
export interface BindingName {
	readonly kind: "binding";
	meaning: number;
	readonly binding: number;
}

/** A name that stands for a member: inside a namespace or enum, or of a constructor's parameter property. */
export interface MemberName {
	readonly kind: "member";
	meaning: number;
	readonly owner: TypeName;
	readonly name: string;
}

/** A name that only the inside of a function or block knows. */
export interface LocalName {
	readonly kind: "local";
	meaning: number;
	readonly scope: Scope;
	value?: LocalValue;
	/** Of a type parameter: what it extends. */
	readonly bound?: Node | undefined;
	/** Filled when first asked for; null: not known, or being found out. */
	type?: TypeName | null | undefined;
}

/** What tells the type of a local name. */
export interface LocalValue {
	readonly annotation?: Node | undefined;
	readonly init?: Node | undefined;
	readonly function?: FunctionNode;
	/** What the code around tells: the parameter of a callback. */
	readonly given?: TypeName | undefined;
	/** Properties to go through from there: of `{ a: { b } }`, `a` and `b`. */
	readonly path?: readonly string[];
	/** Not the value is meant but what iterating over it gives. */
	readonly element?: true;
}

/** An empty scope inside another. */
export function inside(
	parent: Scope | undefined,
	more: Omit<Partial<Scope>, "parent" | "names"> = {},
): Scope {
	const { isFunction = false, self, base } = more;
	return { parent, names: new Map(), isFunction, self, base };
}

/** The innermost declaration of a name that has one of the meanings. */
export function lookup(from: Scope, name: string, meaning: number): Name | undefined {
	for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
		const found = scope.names.get(name);
		if (found && (found.meaning & meaning) !== 0) return found;
	}
	return undefined;
}

/** Declares a name that only this scope knows; several declarations of one name become one. */
export function declareLocal(
	scope: Scope,
	id: Identifier,
	meaning: number,
	value?: LocalValue,
	bound?: Node,
): void {
	const known = scope.names.get(id.name);
	if (!known) {
		const name: LocalName = { kind: "local", meaning, scope };
		scope.names.set(id.name, value || bound ? { ...name, ...(value && { value }), bound } : name);
		return;
	}
	known.meaning |= meaning;
	if (known.kind === "local" && value && !known.value) known.value = value;
}

/** A scope for the type parameters of something, or the same scope if it has none. */
export function declareTypeParameters(
	outer: Scope,
	parameters: Of<"TSTypeParameterDeclaration"> | null | undefined,
): Scope {
	if (!parameters) return outer;
	const scope = inside(outer);
	for (const { name, constraint } of parameters.params) {
		declareLocal(scope, name, TYPE, undefined, constraint ?? undefined);
	}
	return scope;
}

/** What `this` or `super` is at a place. */
export function enclosing(from: Scope, which: "self" | "base"): TypeName | undefined {
	for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
		const found = scope[which];
		if (found !== undefined) return found ?? undefined;
	}
	return undefined;
}
