import type { TypeName } from "../facts.ts";
import {
	annotationOf,
	type FunctionNode,
	type Identifier,
	keyOf,
	type Node,
	type Of,
} from "./ast.ts";

/** What a name can stand for. One name can have several meanings, from one declaration or more. */
export const VALUE = 1;
export const TYPE = 2;
/** What may stand before a dot in a type: namespaces, enums, imports. */
export const SPACE = 4;
export const ANY = 7;

/** A stretch of code with names of its own. All are declared when it is entered, hoisted ones included. */
export interface Scope {
	readonly parent: Scope | undefined;
	readonly names: Map<string, Name>;
	/** Takes the `var`s inside it. */
	readonly isFunction: boolean;
	/** What `this` is. Undefined: as outside. Null: not known. */
	readonly self?: TypeName | null | undefined;
	readonly base?: TypeName | null | undefined;
}

export type Name = BindingName | MemberName | LocalName;

/** A name of {@link FileFacts.bindings}. */
interface BindingName {
	readonly kind: "binding";
	meaning: number;
	readonly binding: number;
}

/** A name that stands for a member: inside a namespace or enum, or of a constructor's parameter property. */
interface MemberName {
	readonly kind: "member";
	meaning: number;
	readonly owner: TypeName;
	readonly name: string;
}

/** A name of a function or block. */
export interface LocalName {
	readonly kind: "local";
	meaning: number;
	readonly scope: Scope;
	value?: LocalValue;
	/** Of a type parameter: what it extends. */
	readonly bound?: Node | undefined;
	/** Computed on first use; null: not known, or being computed. */
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
	/** The name is an element of the value, as in `for (const name of value)`. */
	readonly element?: true;
}

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

export function bindingOf(scope: Scope, name: string): number | undefined {
	const found = lookup(scope, name, ANY);
	return found?.kind === "binding" ? found.binding : undefined;
}

/** Declares a name of this scope; several declarations of one name become one. */
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

export function declarePattern(scope: Scope, pattern: Node, value: LocalValue): void {
	eachName(pattern, value, (id, local) => declareLocal(scope, id, VALUE, local));
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

export function enclosing(from: Scope, which: "self" | "base"): TypeName | undefined {
	for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
		const found = scope[which];
		if (found !== undefined) return found ?? undefined;
	}
	return undefined;
}

/** Calls back for every name of a pattern, with what tells its type. */
export function eachName(
	pattern: Node,
	value: LocalValue,
	take: (id: Identifier, value: LocalValue) => void,
): void {
	switch (pattern.type) {
		case "Identifier":
			take(pattern, annotated(pattern, value));
			return;
		case "AssignmentPattern": {
			// A default tells the type where nothing else does.
			const isKnown = value.annotation || value.init || value.given || value.path;
			const isNamed = pattern.left.type === "Identifier";
			eachName(pattern.left, isNamed && !isKnown ? { init: pattern.right } : value, take);
			return;
		}
		case "TSParameterProperty":
			eachName(pattern.parameter, value, take);
			return;
		case "RestElement":
			eachName(pattern.argument, {}, take);
			return;
		case "ArrayPattern":
			for (const element of pattern.elements) if (element) eachName(element, {}, take);
			return;
		case "ObjectPattern": {
			const whole = annotated(pattern, value);
			for (const property of pattern.properties) {
				if (property.type === "RestElement") eachName(property, {}, take);
				else {
					const key = keyOf(property.key, property.computed);
					const path = key && [...(whole.path ?? []), key.name];
					eachName(property.value, path ? { ...whole, path } : {}, take);
				}
			}
		}
	}
}

function annotated(pattern: Node, value: LocalValue): LocalValue {
	const annotation = annotationOf(pattern);
	return annotation ? { annotation: annotation.typeAnnotation } : value;
}
