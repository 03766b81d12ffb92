import type { TypeName } from "../facts.ts";
import { annotationOf, type FunctionNode, type Key, keyOf, type Node, type Of } from "./ast.ts";

/** Meanings of a name, as bit flags. */
export const VALUE = 1;
export const TYPE = 2;
/** A name that can precede a dot in a type: a namespace, enum or import. */
export const NAMESPACE = 4;
export const ANY = 7;

/** All names of a scope, including hoisted ones, are declared on entry. */
export class Scope {
	readonly names = new Map<string, Name>();
	readonly parent: Scope | undefined;
	/** Whether `var` declarations inside are hoisted to this scope. */
	readonly isFunction: boolean;
	/** Type of `this`. Undefined: inherited. Null: unknown. */
	readonly self: TypeName | null | undefined;
	readonly base: TypeName | null | undefined;
	/** Whether `this` is the object that is `module.exports`. */
	readonly isOfExports: boolean;

	constructor(
		parent: Scope | undefined,
		{
			isFunction = false,
			self,
			base,
			isOfExports = false,
		}: Partial<Pick<Scope, "isFunction" | "self" | "base" | "isOfExports">> = {},
	) {
		this.parent = parent;
		this.isOfExports = isOfExports;
		this.isFunction = isFunction;
		this.self = self;
		this.base = base;
	}

	lookup(name: string, meaning: number): Name | undefined {
		for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
			const found = scope.names.get(name);
			if (found && (found.meaning & meaning) !== 0) return found;
		}
		return undefined;
	}

	bindingOf(name: string): number | undefined {
		const found = this.lookup(name, ANY);
		return found?.kind === "binding" ? found.binding : undefined;
	}

	enclosing(which: "self" | "base"): TypeName | undefined {
		for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
			const found = scope[which];
			if (found !== undefined) return found ?? undefined;
		}
		return undefined;
	}

	hasExportsAsThis(): boolean {
		for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
			if (scope.self !== undefined) return scope.isOfExports;
		}
		return false;
	}

	declare({ name }: Key, meaning: number, value?: LocalValue, bound?: Node): void {
		const known = this.names.get(name);
		if (!known) {
			const local: LocalName = { kind: "local", meaning, scope: this };
			this.names.set(name, value || bound ? { ...local, ...(value && { value }), bound } : local);
			return;
		}
		known.meaning |= meaning;
		if (known.kind === "local" && value && !known.value) known.value = value;
	}

	declarePattern(pattern: Node, value: LocalValue): void {
		eachName(pattern, value, (id, local) => this.declare(id, VALUE, local));
	}

	/** Returns this scope itself if there are no type parameters. */
	withTypeParameters(parameters: Of<"TSTypeParameterDeclaration"> | null | undefined): Scope {
		if (!parameters) return this;
		const scope = new Scope(this);
		for (const { name, constraint } of parameters.params) {
			scope.declare(name, TYPE, undefined, constraint ?? undefined);
		}
		return scope;
	}
}

export type Name = BindingName | MemberName | LocalName;

/** Refers to an entry of {@link FileFacts.bindings}. */
interface BindingName {
	readonly kind: "binding";
	meaning: number;
	readonly binding: number;
}

interface MemberName {
	readonly kind: "member";
	meaning: number;
	readonly owner: TypeName;
	readonly name: string;
}

export interface LocalName {
	readonly kind: "local";
	meaning: number;
	readonly scope: Scope;
	value?: LocalValue;
	/** Constraint of a type parameter. */
	readonly bound?: Node | undefined;
	/** Computed on first use. Null: unknown or being computed. */
	type?: TypeName | null | undefined;
}

export interface LocalValue {
	readonly annotation?: Node | undefined;
	readonly init?: Node | undefined;
	readonly function?: FunctionNode;
	/** Type of a callback's parameter, inferred from the call. */
	readonly contextual?: TypeName | undefined;
	/** Properties that destructuring reads: `a` and `b` for `{ a: { b } }`. */
	readonly path?: readonly string[];
	/** Set if the name holds an element of `init`, as in `for (const name of init)`. */
	readonly element?: true;
}

export function eachName(
	pattern: Node,
	value: LocalValue,
	take: (id: Key, value: LocalValue) => void,
): void {
	switch (pattern.type) {
		case "Identifier":
			take(pattern, annotated(pattern, value));
			return;
		case "AssignmentPattern": {
			// If no type is known, the default value determines it.
			const isKnown = value.annotation || value.init || value.contextual || value.path;
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
