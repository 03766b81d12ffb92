import type { Member, SymbolKind, TypeName } from "../facts.ts";
import {
	bare,
	type ClassNode,
	type FunctionNode,
	isFunction,
	type Key,
	keyOf,
	type Node,
	type Of,
} from "./ast.ts";
import type { Draft } from "./draft.ts";
import {
	given,
	resultOf,
	typeOfAnnotation,
	typeOfExpression,
	typeOfHeritage,
} from "./receivers.ts";
import { declareTypeParameters, inside, type Scope } from "./scope.ts";
import { headEnd, headOf } from "./signature.ts";
import { spaceMembers } from "./spaces.ts";

/** Objects inside objects are described this deep. */
const MAX_DEPTH = 3;

/** What is reached with a dot from the thing that a node declares. */
export function membersOf(draft: Draft, scope: Scope, node: Node, owner: TypeName): Member[] {
	switch (node.type) {
		case "ClassDeclaration":
		case "ClassExpression":
			return classMembers(draft, scope, node, owner);
		case "TSInterfaceDeclaration": {
			const inner = declareTypeParameters(scope, node.typeParameters);
			return typeMembers(draft, inside(inner, { self: given(owner) ?? null }), node.body.body);
		}
		case "TSTypeAliasDeclaration": {
			const inner = declareTypeParameters(scope, node.typeParameters);
			return partsOf(node.typeAnnotation).flatMap((part) =>
				part.type === "TSTypeLiteral" ? typeMembers(draft, inner, part.members) : [],
			);
		}
		case "TSEnumDeclaration":
			return node.body.members.flatMap((one) => {
				const key = keyOf(one.id, false);
				return key ? [describe(draft, { key, node: one, symbol: "enum", static: true })] : [];
			});
		case "TSModuleDeclaration":
			return spaceMembers(draft, scope, node, owner);
		case "VariableDeclarator": {
			if (node.id.type !== "Identifier") return [];
			const type = node.id.typeAnnotation?.typeAnnotation;
			if (type?.type === "TSTypeLiteral") return literalMembers(draft, scope, type);
			if (type || !node.init) return [];
			return membersOf(draft, scope, bare(node.init), owner);
		}
		case "ObjectExpression":
			return objectMembers(draft, scope, node, 1);
		case "CallExpression": {
			const [first] = isFreeze(node) ? node.arguments : [];
			return first?.type === "ObjectExpression" ? objectMembers(draft, scope, first, 1) : [];
		}
		default:
			return [];
	}
}

/** The names that a class or interface extends or implements, or that a type alias is made of. */
export function heritageOf(draft: Draft, scope: Scope, node: Node): TypeName[] {
	switch (node.type) {
		case "VariableDeclarator":
			return node.init ? heritageOf(draft, scope, bare(node.init)) : [];
		case "ClassDeclaration":
		case "ClassExpression": {
			const inner = declareTypeParameters(scope, node.typeParameters);
			const base = node.superClass && given(typeOfExpression(draft, inner, node.superClass));
			const implemented = node.implements?.map((one) =>
				typeOfHeritage(draft, inner, one.expression),
			);
			return known([base, ...(implemented ?? [])]);
		}
		case "TSInterfaceDeclaration": {
			const inner = declareTypeParameters(scope, node.typeParameters);
			return known(node.extends.map((one) => typeOfHeritage(draft, inner, one.expression)));
		}
		case "TSTypeAliasDeclaration": {
			const inner = declareTypeParameters(scope, node.typeParameters);
			const parts = partsOf(node.typeAnnotation);
			return known(parts.map((part) => typeOfAnnotation(draft, inner, part)));
		}
		default:
			return [];
	}
}

/** One member, from its declaration. */
export function describe(
	draft: Draft,
	what: {
		readonly key: Key;
		readonly node: Node;
		readonly symbol: SymbolKind;
		readonly static: boolean;
		readonly type?: TypeName | undefined;
		readonly members?: readonly Member[];
	},
): Member {
	const { key, node, symbol, type, members = [] } = what;
	return {
		name: key.name,
		symbol,
		static: what.static,
		at: draft.positions.at(key.start),
		endLine: draft.positions.line(Math.max(node.end - 1, 0)),
		signature: headOf(draft.source, node.start, headEnd(node)),
		...(type && { type }),
		...(members.length > 0 && { members }),
	};
}

function known(types: readonly (TypeName | null | undefined)[]): TypeName[] {
	return types.filter((type) => type !== undefined && type !== null);
}

/** The parts of a union or intersection; another type is its only part. */
function partsOf(type: Node): Node[] {
	if (type.type !== "TSUnionType" && type.type !== "TSIntersectionType") return [type];
	return type.types.flatMap(partsOf);
}

function isFreeze({ callee }: Of<"CallExpression">): boolean {
	return (
		callee.type === "MemberExpression" &&
		callee.object.type === "Identifier" &&
		callee.object.name === "Object" &&
		keyOf(callee.property, callee.computed)?.name === "freeze"
	);
}

function classMembers(draft: Draft, outer: Scope, node: ClassNode, owner: TypeName): Member[] {
	const scope = declareTypeParameters(outer, node.typeParameters);
	const instance = inside(scope, { self: given(owner) ?? null });
	const statics = inside(scope, { self: owner });
	return node.body.body.flatMap((one): Member[] => {
		if (one.type === "StaticBlock" || one.type === "TSIndexSignature") return [];
		if (one.type === "MethodDefinition" && one.kind === "constructor") {
			return constructorMembers(draft, instance, one.value);
		}
		const key = keyOf(one.key, one.computed);
		if (!key) return [];
		const isStatic = one.static;
		const inner = isStatic ? statics : instance;
		if (one.type === "MethodDefinition" || one.type === "TSAbstractMethodDefinition") {
			const symbol = one.kind === "method" ? "method" : "property";
			const type = one.kind === "set" ? undefined : resultOfMethod(draft, inner, one.value);
			return [describe(draft, { key, node: one, symbol, static: isStatic, type })];
		}
		const value = one.value ? bare(one.value) : undefined;
		return [
			describe(draft, {
				key,
				node: one,
				static: isStatic,
				...("typeAnnotation" in one && one.typeAnnotation
					? annotated(draft, inner, one.typeAnnotation.typeAnnotation)
					: valued(draft, inner, value, 1)),
			}),
		];
	});
}

/** What a constructor declares: parameter properties, and in JavaScript what it assigns to `this`. */
function constructorMembers(draft: Draft, scope: Scope, node: FunctionNode): Member[] {
	const parameters = node.params.flatMap((one): Member[] => {
		if (one.type !== "TSParameterProperty") return [];
		const id = one.parameter.type === "AssignmentPattern" ? one.parameter.left : one.parameter;
		if (id.type !== "Identifier") return [];
		const type = typeOfAnnotation(draft, scope, id.typeAnnotation);
		return [describe(draft, { key: id, node: one, symbol: "property", static: false, type })];
	});
	return draft.isJavaScript ? [...parameters, ...assignedMembers(draft, scope, node)] : parameters;
}

function assignedMembers(draft: Draft, scope: Scope, { body }: FunctionNode): Member[] {
	if (body?.type !== "BlockStatement") return [];
	return body.body.flatMap((statement): Member[] => {
		const { expression } = statement.type === "ExpressionStatement" ? statement : {};
		if (expression?.type !== "AssignmentExpression" || expression.operator !== "=") return [];
		const { left, right } = expression;
		if (left.type !== "MemberExpression" || left.object.type !== "ThisExpression") return [];
		const key = keyOf(left.property, left.computed);
		// A private name is declared by itself.
		if (!key || key.name.startsWith("#")) return [];
		draft.done.add(left);
		const made = bare(right);
		const type = made.type === "NewExpression" ? typeOfExpression(draft, scope, made) : undefined;
		const symbol = isFunction(made) ? "method" : "property";
		return [describe(draft, { key, node: expression, symbol, static: false, type })];
	});
}

function typeMembers(draft: Draft, scope: Scope, signatures: readonly Node[]): Member[] {
	return signatures.flatMap((one): Member[] => {
		if (one.type !== "TSPropertySignature" && one.type !== "TSMethodSignature") return [];
		const key = keyOf(one.key, one.computed);
		if (!key) return [];
		if (one.type === "TSPropertySignature") {
			const type = one.typeAnnotation?.typeAnnotation;
			return [describe(draft, { key, node: one, static: false, ...annotated(draft, scope, type) })];
		}
		const inner = declareTypeParameters(scope, one.typeParameters);
		const type = typeOfAnnotation(draft, inner, one.returnType);
		const symbol = one.kind === "method" ? "method" : "property";
		return [describe(draft, { key, node: one, symbol, static: false, type })];
	});
}

function objectMembers(
	draft: Draft,
	outer: Scope,
	node: Of<"ObjectExpression">,
	depth: number,
): Member[] {
	return node.properties.flatMap((one): Member[] => {
		if (one.type !== "Property") return [];
		const key = keyOf(one.key, one.computed);
		if (!key) return [];
		const value = valued(draft, outer, bare(one.value), depth + 1);
		return [describe(draft, { key, node: one, static: true, ...value })];
	});
}

interface Kind {
	readonly symbol: "method" | "property";
	readonly type?: TypeName | undefined;
	readonly members?: readonly Member[];
}

/** What an annotation says of a property. */
function annotated(draft: Draft, scope: Scope, type: Node | undefined): Kind {
	if (type?.type === "TSFunctionType") {
		const inner = declareTypeParameters(scope, type.typeParameters);
		return { symbol: "method", type: typeOfAnnotation(draft, inner, type.returnType) };
	}
	const members = type?.type === "TSTypeLiteral" ? literalMembers(draft, scope, type) : [];
	return { symbol: "property", type: typeOfAnnotation(draft, scope, type), members };
}

/** The members of something that has this type written out, and so is itself what has them. */
function literalMembers(draft: Draft, scope: Scope, type: Of<"TSTypeLiteral">): Member[] {
	return typeMembers(draft, scope, type.members).map((one) => ({ ...one, static: true }));
}

/** What its value says of a property. */
function valued(draft: Draft, scope: Scope, value: Node | undefined, depth: number): Kind {
	if (!value) return { symbol: "property" };
	if (isFunction(value)) return { symbol: "method", type: resultOfMethod(draft, scope, value) };
	const members =
		value.type === "ObjectExpression" && depth <= MAX_DEPTH
			? objectMembers(draft, scope, value, depth)
			: [];
	return { symbol: "property", type: typeOfExpression(draft, scope, value), members };
}

function resultOfMethod(draft: Draft, scope: Scope, node: FunctionNode): TypeName | undefined {
	return resultOf(draft, declareTypeParameters(scope, node.typeParameters), node);
}
