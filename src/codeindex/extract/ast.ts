import type { Node as AnyNode } from "oxc-parser";

/** Any node of the syntax tree: ESTree with TypeScript. */
export type Node = AnyNode;

export type Of<T extends Node["type"]> = Narrow<Node, T>;
type Narrow<N, T> = N extends { readonly type: infer U } ? (T extends U ? N : never) : never;

export interface Identifier {
	readonly name: string;
	readonly start: number;
	readonly end: number;
}

/** Everything with parameters and perhaps a body, methods' values and overloads included. */
export type FunctionNode = Of<"FunctionDeclaration"> | Of<"ArrowFunctionExpression">;
export type ClassNode = Of<"ClassDeclaration">;

/** A property's name and where it begins, quotes not counted. */
export interface Key {
	readonly name: string;
	readonly start: number;
}

/** The name of a property, method, enum member or accessed element; undefined if it is computed at run time. */
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

/** A name in an import or export list, which may be a string. */
export function moduleName(node: Node): Key {
	return keyOf(node, false) ?? { name: "", start: node.start };
}

/** `A`, `B` and `C` of `A.B.C`; nothing of what is no dotted name. */
export function dotted(node: Node | null): Identifier[] {
	if (node?.type === "TSQualifiedName") return [...dotted(node.left), node.right];
	return node?.type === "Identifier" ? [node] : [];
}

/** The text of a string literal, or of a template without holes. */
export function textOf(node: Node | null | undefined): string | undefined {
	if (node?.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
	if (node?.type === "TemplateLiteral" && node.expressions.length === 0) {
		return node.quasis[0]?.value.cooked ?? undefined;
	}
	return undefined;
}

/** The nodes in some fields of a node, in order. */
export function nodesIn(node: Node, fields: readonly string[]): Node[] {
	const parts = node as unknown as Record<string, Node | (Node | null)[] | null | undefined>;
	return fields.flatMap((field) => parts[field] ?? []).filter((part) => part !== null);
}

/** The type written for a name or a pattern. */
export function annotationOf(node: Node): Of<"TSTypeAnnotation"> | null | undefined {
	return "typeAnnotation" in node ? (node.typeAnnotation as Of<"TSTypeAnnotation">) : undefined;
}

/** The expression inside `!`, `as const`, `satisfies` and `await`, or the value of an assignment. */
export function bare(node: Node): Node {
	switch (node.type) {
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

export function isConst(type: Node): boolean {
	return (
		type.type === "TSTypeReference" &&
		type.typeName.type === "Identifier" &&
		type.typeName.name === "const"
	);
}

export function isFunction(node: Node | null | undefined): node is FunctionNode {
	return node?.type === "ArrowFunctionExpression" || node?.type === "FunctionExpression";
}

/** Whether it declares a function, with or without a body. */
export function isFunctionDeclaration(node: Node): node is Of<"FunctionDeclaration"> {
	return node.type === "FunctionDeclaration" || node.type === "TSDeclareFunction";
}

/** What a name counts as that holds this value. */
export function symbolOfValue(value: Node | undefined): "function" | "class" | "variable" {
	if (isFunction(value)) return "function";
	return value?.type === "ClassExpression" ? "class" : "variable";
}
