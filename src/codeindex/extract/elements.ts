import type { TypeName } from "../facts.ts";
import { bare, keyOf, type Node } from "./ast.ts";
import type { Draft } from "./draft.ts";
import { typeOfAnnotation } from "./receivers.ts";
import { lookup, type Scope, VALUE } from "./scope.ts";

/** What the elements of a list are, if the list is a local name whose type is written as `Foo[]` or its like. */
export function elementOf(draft: Draft, scope: Scope, list: Node): TypeName | undefined {
	const node = bare(list);
	if (node.type === "Identifier") {
		const name = lookup(scope, node.name, VALUE);
		if (name?.kind !== "local" || !name.value || name.value.path) return undefined;
		const { annotation, init } = name.value;
		if (annotation) return typeOfElement(draft, name.scope, annotation);
		// A list is made from others, never from itself: its initialiser stands further out or before.
		return init && init.end < node.start ? elementOf(draft, name.scope, init) : undefined;
	}
	if (node.type === "TSAsExpression") return typeOfElement(draft, scope, node.typeAnnotation);
	const listed = node.type === "CallExpression" ? callOnList(node) : undefined;
	return listed && SAME_ELEMENTS.has(listed.name)
		? elementOf(draft, scope, listed.list)
		: undefined;
}

/** What calling a method of a list gives, if that is one of its elements. */
export function elementGiven(draft: Draft, scope: Scope, call: Node): TypeName | undefined {
	const listed = callOnList(call);
	return listed && ONE_ELEMENT.has(listed.name) ? elementOf(draft, scope, listed.list) : undefined;
}

/** What a callback of a list's method is given first. */
export function elementPassed(draft: Draft, scope: Scope, call: Node): TypeName | undefined {
	const listed = callOnList(call);
	return listed && WITH_CALLBACK.has(listed.name)
		? elementOf(draft, scope, listed.list)
		: undefined;
}

const SAME_ELEMENTS = new Set(["filter", "slice", "reverse", "sort", "toSorted", "toReversed"]);
const ONE_ELEMENT = new Set(["at", "find", "findLast", "pop", "shift"]);
const WITH_CALLBACK = new Set(
	"map flatMap filter find findLast findIndex findLastIndex forEach some every".split(" "),
);

function callOnList(node: Node): { readonly name: string; readonly list: Node } | undefined {
	if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return undefined;
	const { callee } = node;
	const key = keyOf(callee.property, callee.computed);
	return key && { name: key.name, list: callee.object };
}

const LISTS = new Set("Array ReadonlyArray Set ReadonlySet Iterable AsyncIterable".split(" "));

function typeOfElement(draft: Draft, scope: Scope, type: Node): TypeName | undefined {
	if (type.type === "TSArrayType") return typeOfAnnotation(draft, scope, type.elementType);
	if (type.type === "TSTypeOperator") return typeOfElement(draft, scope, type.typeAnnotation);
	if (type.type !== "TSTypeReference" || type.typeName.type !== "Identifier") return undefined;
	const isList = LISTS.has(type.typeName.name);
	return isList ? typeOfAnnotation(draft, scope, type.typeArguments?.params[0]) : undefined;
}
