import type { Member, TypeName } from "../facts.ts";
import {
	annotationOf,
	bare,
	type ClassNode,
	declaredName,
	dotted,
	type FunctionNode,
	isFunction,
	isFunctionDeclaration,
	isNamed,
	type Key,
	keyOf,
	memberKey,
	moduleName,
	type Node,
	type Of,
} from "./ast.ts";
import { type Place, SYMBOLS } from "./draft.ts";
import {
	given,
	member,
	resultOf,
	typeOfAnnotation,
	typeOfExpression,
	typeOfName,
} from "./receivers.ts";
import { ANY, eachName, Scope } from "./scope.ts";
import { headEnd, headOf } from "./signature.ts";
import { enterSpace, innerOwner, isAmbient } from "./types.ts";

const MAX_DEPTH = 3;

export function membersOf(place: Place, node: Node, owner: TypeName): Member[] {
	switch (node.type) {
		case "ClassDeclaration":
		case "ClassExpression":
			return classMembers(place, node, owner);
		case "TSInterfaceDeclaration":
			return typeMembers(ownPlace(generic(place, node), given(owner)), node.body.body);
		case "TSTypeAliasDeclaration": {
			const inner = generic(place, node);
			return partsOf(node.typeAnnotation).flatMap((part) =>
				part.type === "TSTypeLiteral" ? typeMembers(inner, part.members) : [],
			);
		}
		case "TSEnumDeclaration":
			return node.body.members.flatMap((one) => {
				const key = keyOf(one.id, false);
				return key ? [describe(place, { key, node: one, symbol: "enum", static: true })] : [];
			});
		case "TSModuleDeclaration":
			return spaceMembers(place, node, owner);
		case "VariableDeclarator": {
			if (node.id.type !== "Identifier") return [];
			const type = node.id.typeAnnotation?.typeAnnotation;
			if (type?.type === "TSTypeLiteral") return literalMembers(place, type);
			if (type || !node.init) return [];
			return membersOf(place, bare(node.init), owner);
		}
		case "ObjectExpression":
			return objectMembers(place, node, 1);
		case "CallExpression": {
			const [first] = isFreeze(node) ? node.arguments : [];
			return first?.type === "ObjectExpression" ? objectMembers(place, first, 1) : [];
		}
		default:
			return [];
	}
}

export function partsOf(type: Node): Node[] {
	if (type.type !== "TSUnionType" && type.type !== "TSIntersectionType") return [type];
	return type.types.flatMap(partsOf);
}

export function generic(
	{ draft, scope }: Place,
	node: { readonly typeParameters?: Of<"TSTypeParameterDeclaration"> | null },
): Place {
	return { draft, scope: scope.withTypeParameters(node.typeParameters) };
}

function ownPlace({ draft, scope }: Place, self: TypeName | undefined): Place {
	return { draft, scope: new Scope(scope, { self: self ?? null }) };
}

interface Described extends Kind {
	readonly key: Key;
	readonly node: Node;
	readonly static: boolean;
}

interface Kind {
	readonly symbol: Member["symbol"];
	readonly type?: TypeName | undefined;
	readonly members?: readonly Member[];
}

function describe({ draft }: Place, what: Described): Member {
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

function isFreeze({ callee }: Of<"CallExpression">): boolean {
	if (callee.type !== "MemberExpression" || !isNamed(callee.object, "Object")) return false;
	return memberKey(callee)?.name === "freeze";
}

function classMembers(outer: Place, node: ClassNode, owner: TypeName): Member[] {
	const place = generic(outer, node);
	const instance = ownPlace(place, given(owner));
	const statics = ownPlace(place, owner);
	return node.body.body.flatMap((one): Member[] => {
		if (one.type === "StaticBlock" || one.type === "TSIndexSignature") return [];
		if (one.type === "MethodDefinition" && one.kind === "constructor") {
			return constructorMembers(instance, one.value);
		}
		const key = keyOf(one.key, one.computed);
		if (!key) return [];
		const common = { key, node: one, static: one.static };
		const inner = one.static ? statics : instance;
		if (one.type === "MethodDefinition" || one.type === "TSAbstractMethodDefinition") {
			const symbol = one.kind === "method" ? "method" : "property";
			const type = one.kind === "set" ? undefined : resultOfMethod(inner, one.value);
			return [describe(place, { ...common, symbol, type })];
		}
		const annotation = annotationOf(one);
		const kind = annotation
			? annotated(inner, annotation.typeAnnotation)
			: valued(inner, one.value ? bare(one.value) : undefined, 1);
		return [describe(place, { ...common, ...kind })];
	});
}

/** Parameter properties and, in JavaScript, assignments to `this`. */
function constructorMembers(place: Place, node: FunctionNode): Member[] {
	const parameters = node.params.flatMap((one): Member[] => {
		if (one.type !== "TSParameterProperty") return [];
		const id = one.parameter.type === "AssignmentPattern" ? one.parameter.left : one.parameter;
		if (id.type !== "Identifier") return [];
		const type = typeOfAnnotation(place, id.typeAnnotation);
		return [describe(place, { key: id, node: one, symbol: "property", static: false, type })];
	});
	return place.draft.isJavaScript ? [...parameters, ...assignedMembers(place, node)] : parameters;
}

function assignedMembers(place: Place, { body }: FunctionNode): Member[] {
	if (body?.type !== "BlockStatement") return [];
	return body.body.flatMap((statement): Member[] => {
		const { expression } = statement.type === "ExpressionStatement" ? statement : {};
		if (expression?.type !== "AssignmentExpression" || expression.operator !== "=") return [];
		const { left, right } = expression;
		if (left.type !== "MemberExpression" || left.object.type !== "ThisExpression") return [];
		const key = memberKey(left);
		if (!key || key.name.startsWith("#")) return [];
		place.draft.done.add(left);
		const made = bare(right);
		const type = made.type === "NewExpression" ? typeOfExpression(place, made) : undefined;
		const symbol = isFunction(made) ? "method" : "property";
		return [describe(place, { key, node: expression, symbol, static: false, type })];
	});
}

function typeMembers(place: Place, signatures: readonly Node[]): Member[] {
	return signatures.flatMap((one): Member[] => {
		if (one.type !== "TSPropertySignature" && one.type !== "TSMethodSignature") return [];
		const key = keyOf(one.key, one.computed);
		if (!key) return [];
		const common = { key, node: one, static: false };
		if (one.type === "TSPropertySignature") {
			const type = one.typeAnnotation?.typeAnnotation;
			return [describe(place, { ...common, ...annotated(place, type) })];
		}
		const type = typeOfAnnotation(generic(place, one), one.returnType);
		const symbol = one.kind === "method" ? "method" : "property";
		return [describe(place, { ...common, symbol, type })];
	});
}

function objectMembers(place: Place, node: Of<"ObjectExpression">, depth: number): Member[] {
	return node.properties.flatMap((one): Member[] => {
		const key = one.type === "Property" && keyOf(one.key, one.computed);
		if (!key) return [];
		const value = valued(place, bare(one.value), depth + 1);
		return [describe(place, { key, node: one, static: true, ...value })];
	});
}

function annotated(place: Place, type: Node | undefined): Kind {
	if (type?.type === "TSFunctionType") {
		return { symbol: "method", type: typeOfAnnotation(generic(place, type), type.returnType) };
	}
	const members = type?.type === "TSTypeLiteral" ? literalMembers(place, type) : [];
	return { symbol: "property", type: typeOfAnnotation(place, type), members };
}

function literalMembers(place: Place, type: Of<"TSTypeLiteral">): Member[] {
	return typeMembers(place, type.members).map((one) => ({ ...one, static: true }));
}

function valued(place: Place, value: Node | undefined, depth: number): Kind {
	if (!value) return { symbol: "property" };
	if (isFunction(value)) return { symbol: "method", type: resultOfMethod(place, value) };
	const isObject = value.type === "ObjectExpression" && depth <= MAX_DEPTH;
	const members = isObject ? objectMembers(place, value, depth) : [];
	return { symbol: "property", type: typeOfExpression(place, value), members };
}

function resultOfMethod(place: Place, node: FunctionNode): TypeName | undefined {
	return resultOf(generic(place, node), node);
}

function spaceMembers(place: Place, node: Of<"TSModuleDeclaration">, owner: TypeName): Member[] {
	const { body, id } = node;
	if (!body || id.type === "Literal") return [];
	const inner = innerOwner(id, owner);
	const ambient = isAmbient(place, node);
	const own: Member[] = [];
	if (inner) {
		const within = { draft: place.draft, scope: enterSpace(place, body, inner, ambient) };
		for (const statement of body.body) {
			if (statement.type !== "ExportNamedDeclaration") {
				if (ambient) own.push(...declaredMembers(within, statement, inner));
			} else if (statement.declaration) {
				own.push(...declaredMembers(within, statement.declaration, inner));
			} else own.push(...statement.specifiers.map((one) => passedOn(within, one)));
		}
	}
	// `namespace A.B.C` is three nested namespaces.
	const [, ...names] = dotted(id);
	return names.reduceRight(
		(members, key) => [describe(place, { key, node, symbol: "namespace", static: true, members })],
		own,
	);
}

function passedOn(place: Place, node: Of<"ExportSpecifier">): Member {
	const found = place.scope.lookup(moduleName(node.local).name, ANY);
	const type = found && typeOfName(place.draft, found);
	const key = moduleName(node.exported);
	return describe(place, { key, node, symbol: "variable", static: true, type });
}

function declaredMembers(place: Place, node: Node, owner: TypeName): Member[] {
	if (node.type === "VariableDeclaration") {
		return node.declarations.flatMap((declarator) => variables(place, declarator, owner));
	}
	const symbol = SYMBOLS[node.type];
	const key = declaredName(node);
	if (!symbol || !key) return [];
	const own = member(owner, key.name);
	const members = own ? membersOf(place, node, own) : [];
	const type = isFunctionDeclaration(node) ? resultOf(place, node) : undefined;
	return [describe(place, { key, node, symbol, static: true, members, type })];
}

function variables(place: Place, node: Of<"VariableDeclarator">, owner: TypeName): Member[] {
	const found: Member[] = [];
	eachName(node.id, { init: node.init ?? undefined }, (key, { annotation, init, path }) => {
		const own = member(owner, key.name);
		const type = annotation
			? typeOfAnnotation(place, annotation)
			: init && !path
				? typeOfExpression(place, init)
				: undefined;
		const members = own && !path ? membersOf(place, node, own) : [];
		found.push(describe(place, { key, node, symbol: "variable", static: true, members, type }));
	});
	return found;
}
