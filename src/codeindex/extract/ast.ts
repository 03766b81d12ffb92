import type { Node as AnyNode } from "oxc-parser";

export type Node = AnyNode;
/** The nodes of type `T`, such as `Of<"CallExpression">`. */
export type Of<T extends Node["type"]> = Narrow<Node, T>;
type Narrow<N, T> = N extends { readonly type: infer U } ? (T extends U ? N : never) : never;

/** Any function, including the functions of methods and overloads. */
export type FunctionNode = Of<"FunctionDeclaration"> | Of<"ArrowFunctionExpression">;
export type ClassNode = Of<"ClassDeclaration">;

/** A name as written, with its offset. */
export interface Key {
	readonly name: string;
	readonly start: number;
}

/** Returns undefined if the key is computed at run time. */
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

export function isIndex({ name }: Key): boolean {
	return /^\d+$/.test(name);
}

export function moduleName(node: Node): Key {
	return keyOf(node, false) ?? { name: "", start: node.start };
}

/** Returns `A`, `B` and `C` for `A.B.C`; empty if the node is not a plain or dotted name. */
export function dotted(node: Node | null): Key[] {
	if (node?.type === "TSQualifiedName") return [...dotted(node.left), node.right];
	return node?.type === "Identifier" ? [node] : [];
}

export function textOf(node: Node | null | undefined): string | undefined {
	if (node?.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
	if (node?.type === "TemplateLiteral" && node.expressions.length === 0) {
		return node.quasis[0]?.value.cooked ?? undefined;
	}
	return undefined;
}

export function nodesIn(node: Node, fields: readonly string[]): Node[] {
	const parts = node as unknown as Record<string, Node | (Node | null)[] | null | undefined>;
	return fields.flatMap((field) => parts[field] ?? []).filter((part) => part !== null);
}

export function annotationOf(node: Node): Of<"TSTypeAnnotation"> | null | undefined {
	return "typeAnnotation" in node ? (node.typeAnnotation as Of<"TSTypeAnnotation">) : undefined;
}

/** Strips `!`, `as const`, `satisfies` and `await`. Replaces an assignment with its value. */
export function unwrap(node: Node): Node {
	switch (node.type) {
		case "ChainExpression":
		case "TSNonNullExpression":
		case "TSSatisfiesExpression":
		case "TSInstantiationExpression":
			return unwrap(node.expression);
		case "TSAsExpression":
		case "TSTypeAssertion":
			return isConst(node.typeAnnotation) ? unwrap(node.expression) : node;
		case "AwaitExpression":
			return unwrap(node.argument);
		case "AssignmentExpression":
			return node.operator === "=" ? unwrap(node.right) : node;
		default:
			return node;
	}
}

export function isConst(type: Node): boolean {
	return type.type === "TSTypeReference" && isNamed(type.typeName, "const");
}

export function isNamed(node: Node, name: string): boolean {
	return node.type === "Identifier" && node.name === name;
}

/** Returns `b` for `a.b` and `a["b"]`. */
export function memberKey(node: Node): Key | undefined {
	return node.type === "MemberExpression" ? keyOf(node.property, node.computed) : undefined;
}

/** The declared name. For `namespace A.B`, this is `A`. */
export function declaredName(node: Node): Key | undefined {
	return "id" in node ? dotted(node.id as Node | null)[0] : undefined;
}

export function isFunction(node: Node | null | undefined): node is FunctionNode {
	return node?.type === "ArrowFunctionExpression" || node?.type === "FunctionExpression";
}

export function isFunctionDeclaration(node: Node): node is Of<"FunctionDeclaration"> {
	return node.type === "FunctionDeclaration" || node.type === "TSDeclareFunction";
}

export function symbolOfValue(value: Node | undefined): "function" | "class" | "variable" {
	if (isFunction(value)) return "function";
	return value?.type === "ClassExpression" ? "class" : "variable";
}
