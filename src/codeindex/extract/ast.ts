import type { Node as AnyNode } from "oxc-parser";

/** Any node of the syntax tree, as ESTree with TypeScript has it. */
export type Node = AnyNode;

/** The nodes with this `type`. */
export type Of<T extends Node["type"]> = Narrow<Node, T>;
type Narrow<N, T> = N extends { readonly type: infer U } ? (T extends U ? N : never) : never;

/** A name where it is declared or used. */
export interface Identifier {
	readonly name: string;
	readonly start: number;
	readonly end: number;
}

/** Everything with parameters and perhaps a body, methods' values and overloads included. */
export type FunctionNode = Of<"FunctionDeclaration"> | Of<"ArrowFunctionExpression">;
export type ClassNode = Of<"ClassDeclaration">;

/** A property's name and where it begins, quotes not counted; undefined if it is computed at run time. */
export interface Key {
	readonly name: string;
	readonly start: number;
}

/** The name of a property, method, enum member or accessed element. */
export function keyOf(key: Node, computed: boolean): Key | undefined {
	if (key.type === "PrivateIdentifier") return { name: `#${key.name}`, start: key.start };
	if (key.type === "Identifier") {
		return computed ? undefined : { name: key.name, start: key.start };
	}
	const text = textOf(key);
	if (text !== undefined) return { name: text, start: key.start + 1 };
	if (key.type === "Literal" && typeof key.value === "number") {
		return { name: String(key.value), start: key.start };
	}
	return undefined;
}

/** Whether a key is the number of an element. */
export function isIndex({ name }: Key): boolean {
	return /^\d+$/.test(name);
}

/** What a string literal, or a template without holes, says. */
export function textOf(node: Node | null | undefined): string | undefined {
	if (node?.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
	if (node?.type === "TemplateLiteral" && node.expressions.length === 0) {
		return node.quasis[0]?.value.cooked ?? undefined;
	}
	return undefined;
}

/**
 * The expression without what changes nothing about which thing it is: `!`, `as const`, `satisfies`, `await`, and what
 * it is assigned to on the way.
 */
export function bare(node: Node): Node {
	switch (node.type) {
		case "ParenthesizedExpression":
		case "ChainExpression":
		case "TSNonNullExpression":
		case "TSSatisfiesExpression":
		case "TSInstantiationExpression":
			return bare(node.expression);
		case "TSAsExpression":
		case "TSTypeAssertion":
			return isConst(node.typeAnnotation) ? bare(node.expression) : node;
		case "AwaitExpression":
			return bare(node.argument);
		case "AssignmentExpression":
			return node.operator === "=" ? bare(node.right) : node;
		default:
			return node;
	}
}

/** Whether a type is the `const` of `as const`. */
export function isConst(type: Node): boolean {
	return (
		type.type === "TSTypeReference" &&
		type.typeName.type === "Identifier" &&
		type.typeName.name === "const"
	);
}

/** Whether it is a function expression of either kind. */
export function isFunction(node: Node | null | undefined): node is FunctionNode {
	return node?.type === "ArrowFunctionExpression" || node?.type === "FunctionExpression";
}
