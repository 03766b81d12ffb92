import type { Declared, Member, Parameter, SymbolKind, TypeName } from "../facts.ts";
import type { Assigned } from "./assigned-members.ts";
import {
	annotationOf,
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
	symbolOfValue,
	unwrap,
} from "./ast.ts";
import { docBefore } from "./docs.ts";
import {
	type Declaration,
	type FactsBuilder,
	type PendingBinding,
	type Place,
	SYMBOLS,
} from "./facts-builder.ts";
import { parametersOf } from "./parameters.ts";
import {
	instanceOf,
	member,
	resultOf,
	typeOfAnnotation,
	typeOfEntity,
	typeOfExpression,
	typeOfName,
	typeOfValue,
} from "./receivers.ts";
import { ANY, eachName, Scope, TYPE, VALUE } from "./scope.ts";
import { headEnd, headOf } from "./signature.ts";
import { enterNamespace, innerOwner, isAmbient } from "./types.ts";

export function describeBindings(facts: FactsBuilder): void {
	for (const [index, binding] of facts.bindings.entries()) {
		if (binding.kind !== "pending") continue;
		const nodes = binding.declarations.map(({ node }) => node);
		facts.declaring.set(index, nodes);
		facts.bindings[index] = describeBinding(facts, binding, index);
	}
}

// If a name has declarations of several kinds, the first one in this list applies.
const RANK: readonly SymbolKind[] = ["class", "function", "enum", "variable", "interface", "type"];

function describeBinding(facts: FactsBuilder, pending: PendingBinding, index: number): Declared {
	const { name, declarations } = pending;
	const { positions, source } = facts;
	const top = { facts, scope: facts.top };
	const kinds = declarations.map((one) => symbolOf(one));
	const symbol = RANK.find((kind) => kinds.includes(kind)) ?? kinds[0] ?? "variable";
	const main = declarations[kinds.indexOf(symbol)] as Declaration;
	const last = symbol === "function" ? (declarations[kinds.lastIndexOf(symbol)] ?? main) : main;
	const others = declarations.filter((one) => one !== main);
	const docs = [main, ...others].map((one) => docBefore(source, startOf(one)));
	const doc = docs.find((text) => text !== undefined);
	const owner: TypeName = { binding: index, side: "value" };
	for (const one of declarations) {
		const value = unwrap(initialOf(one.node) ?? one.node);
		if (value.type === "ObjectExpression" || value.type === "ClassExpression") {
			facts.owners.set(value, owner);
			if (isTyped(facts, one)) facts.undecided.add(value);
		}
	}
	const own = merged(declarations.flatMap((one) => membersOf(top, one.node, owner)));
	const members = withAssigned(top, own, declarations, owner);
	const heritage = declarations
		.flatMap((one) => heritageOf(top, one.node))
		.filter((type) => type !== undefined);
	const type = typeOf(top, main, symbol);
	const parameters =
		others.length > 0 || main.path
			? undefined
			: parametersOf(top, initialOf(main.node) ?? main.node);
	return {
		kind: "declared",
		name,
		symbol,
		at: positions.at(main.id.start),
		...(others.length > 0 && { alsoAt: others.map((one) => positions.at(one.id.start)) }),
		...startLine(facts, startOf(main), main.id),
		endLine: positions.line(Math.max(last.node.end - 1, 0)),
		signature: headOf(source, headStart(facts, main), headEnd(main.node)),
		...(doc !== undefined && { doc }),
		...(heritage.length > 0 && { heritage }),
		...(type && { type }),
		...(parameters && { parameters }),
		...(members.length > 0 && { members }),
	};
}

/** Decorators may stand before `export`. */
function startOf({ node, from }: Declaration): number {
	const [decorator] = "decorators" in node ? (node.decorators ?? []) : [];
	return Math.min(from, decorator?.start ?? from);
}

/** Present if it is not the line of the name. */
function startLine(
	{ positions }: FactsBuilder,
	from: number,
	id: Key,
): Pick<Declared, "startLine"> {
	const line = positions.line(from);
	return line < positions.line(id.start) ? { startLine: line } : {};
}

/** Whether a type is written for a variable or, in a comment, for any declaration. */
export function isTyped({ source }: FactsBuilder, { node, from }: Declaration): boolean {
	if (node.type === "VariableDeclarator" && annotationOf(node.id)) return true;
	const before = source.slice(0, from).trimEnd();
	if (!before.endsWith("*/")) return false;
	return /@(?:type|satisfies)\b/.test(before.slice(before.lastIndexOf("/**")));
}

/** `const f = () => …` counts as a function, `const C = class …` as a class. */
function symbolOf({ symbol, node, path }: Declaration): SymbolKind {
	const value = symbolOfValue(path ? undefined : initialOf(node));
	return value === "variable" ? symbol : value;
}

function initialOf(node: Node): Node | undefined {
	return node.type === "VariableDeclarator" && node.init ? unwrap(node.init) : undefined;
}

function heritageOf(outer: Place, node: Node): (TypeName | undefined)[] {
	const place = generic(outer, node as Of<"ClassDeclaration">);
	switch (node.type) {
		case "VariableDeclarator":
			return node.init ? heritageOf(place, unwrap(node.init)) : [];
		case "ObjectExpression":
			// What is spread last comes first, since it replaces the others.
			return node.properties.toReversed().flatMap((one) => {
				return one.type === "SpreadElement" ? [typeOfExpression(place, one.argument)] : [];
			});
		case "ClassDeclaration":
		case "ClassExpression": {
			const base = node.superClass ? [instanceOf(typeOfExpression(place, node.superClass))] : [];
			const types = node.implements?.map((one) => typeOfEntity(place, one.expression, TYPE)) ?? [];
			return [...base, ...types];
		}
		case "TSInterfaceDeclaration":
			return node.extends.map((one) => typeOfEntity(place, one.expression, TYPE));
		case "TSTypeAliasDeclaration":
			// A type parameter stands for more than its constraint.
			return partsOf(node.typeAnnotation)
				.filter((part) => !isParameter(place, part))
				.map((part) => typeOfAnnotation(place, part));
		default:
			return [];
	}
}

function typeOf(top: Place, declaration: Declaration, symbol: SymbolKind): TypeName | undefined {
	const { node, path = [] } = declaration;
	if (symbol === "function") return resultOf(top, (initialOf(node) ?? node) as FunctionNode);
	if (symbol !== "variable") return undefined;
	if (node.type === "TSImportEqualsDeclaration") {
		return typeOfEntity(top, node.moduleReference, VALUE);
	}
	if (node.type !== "VariableDeclarator") return typeOfExpression(top, node);
	const value = { annotation: annotationOf(node.id) ?? undefined, init: node.init ?? undefined };
	return path.reduce(member, typeOfValue(top, value));
}

/** A signature includes the `const`, `let`, `var` or `using` that precedes the declarator. */
function headStart(facts: FactsBuilder, { node }: Declaration): number {
	if (node.type !== "VariableDeclarator") return node.start;
	const word = /\b(?:const|let|var|using)\s+$/.exec(
		facts.source.slice(Math.max(0, node.start - 20), node.start),
	);
	return word ? node.start - word[0].length : node.start;
}

function merged(members: readonly Member[]): Member[] {
	const byName = Map.groupBy(members, (member) => `${member.static} ${member.name}`);
	return [...byName.values()].map(mergeMembers);
}

function mergeMembers(same: readonly Member[]): Member {
	const [first, ...others] = same as [Member, ...Member[]];
	if (others.length === 0) return first;
	const type = same.find((part) => part.type)?.type;
	const inner = merged(same.flatMap((part) => part.members ?? []));
	const { parameters: _, ...common } = first;
	return {
		...common,
		alsoAt: others.map(({ at }) => at),
		endLine: same.reduce((last, { endLine }) => Math.max(last, endLine), 0),
		...(type && { type }),
		...(inner.length > 0 && { members: inner }),
	};
}

/** Adds what statements assign. If an earlier member has that name, it is only written to. */
function withAssigned(
	top: Place,
	own: readonly Member[],
	declarations: readonly Declaration[],
	owner: TypeName,
): Member[] {
	const { facts } = top;
	const all = new Map(own.map((one) => [`${one.static} ${one.name}`, one]));
	const add = (one: Member): boolean => {
		const name = `${one.static} ${one.name}`;
		if (all.has(name)) return false;
		all.set(name, one);
		return true;
	};
	const instance = ownPlace(top, instanceOf(owner));
	const assigned = facts.assigned.get(owner.binding) ?? [];
	const maker = makerOf(facts, declarations, assigned);
	if (maker) {
		const made = assignedMembers(instance, maker);
		for (const one of made) add(one);
		const hasMembers = made.length > 0 || assigned.some((one) => one.ofInstances);
		if (hasMembers) facts.selves.set(maker, instanceOf(owner) as TypeName);
	}
	for (const { key, node, value, ofInstances, type } of assigned) {
		const place = ofInstances ? instance : top;
		if (key) {
			const kind = type ? { symbol: "property" as const, type } : kindOfValue(place, value, 1);
			const isNew = add(describe(place, { key, node, static: !ofInstances, ...kind }));
			if (isNew && node.type === "AssignmentExpression") facts.memberTargets.add(node.left);
		} else if (value?.type === "ObjectExpression") {
			for (const one of objectMembers(place, value, 1)) add({ ...one, static: !ofInstances });
		}
	}
	return [...all.values()];
}

/** In JavaScript, a function that makes instances: one with a prototype, or with a name like that of a class. */
function makerOf(
	{ isJavaScript }: FactsBuilder,
	[first, ...others]: readonly Declaration[],
	assigned: readonly Assigned[],
): FunctionNode | undefined {
	if (!isJavaScript || !first || others.length > 0) return undefined;
	const value = initialOf(first.node) ?? first.node;
	if (value.type !== "FunctionDeclaration" && value.type !== "FunctionExpression") return undefined;
	const isMaker = /^[A-Z]/.test(first.id.name) || assigned.some((one) => one.ofInstances);
	return isMaker ? (value as FunctionNode) : undefined;
}

const MAX_DEPTH = 3;

function membersOf(place: Place, node: Node, owner: TypeName): Member[] {
	switch (node.type) {
		case "ClassDeclaration":
		case "ClassExpression":
			return classMembers(place, node, owner);
		case "TSInterfaceDeclaration":
			return typeMembers(ownPlace(generic(place, node), instanceOf(owner)), node.body.body);
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
			return moduleMembers(place, node, owner);
		case "VariableDeclarator": {
			if (node.id.type !== "Identifier") return [];
			const type = node.id.typeAnnotation?.typeAnnotation;
			if (type?.type === "TSTypeLiteral") return literalMembers(place, type);
			if (type || !node.init) return [];
			return membersOf(place, unwrap(node.init), owner);
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

function partsOf(type: Node): Node[] {
	if (type.type !== "TSUnionType" && type.type !== "TSIntersectionType") return [type];
	return type.types.flatMap(partsOf);
}

function isParameter({ scope }: Place, type: Node): boolean {
	if (type.type !== "TSTypeReference" || type.typeName.type !== "Identifier") return false;
	return scope.lookup(type.typeName.name, TYPE)?.kind === "local";
}

function generic(
	{ facts, scope }: Place,
	node: { readonly typeParameters?: Of<"TSTypeParameterDeclaration"> | null },
): Place {
	return { facts, scope: scope.withTypeParameters(node.typeParameters) };
}

function ownPlace({ facts, scope }: Place, self: TypeName | undefined): Place {
	return { facts, scope: new Scope(scope, { self: self ?? null }) };
}

interface Described extends Kind {
	readonly key: Key;
	readonly node: Node;
	readonly static: boolean;
}

interface Kind {
	readonly symbol: Member["symbol"];
	readonly type?: TypeName | undefined;
	readonly parameters?: readonly Parameter[] | undefined;
	readonly members?: readonly Member[];
}

function describe({ facts }: Place, described: Described): Member {
	const { key, node, symbol, type, parameters, members = [] } = described;
	const doc = docBefore(facts.source, node.start);
	return {
		name: key.name,
		symbol,
		static: described.static,
		at: facts.positions.at(key.start),
		...startLine(facts, node.start, key),
		endLine: facts.positions.line(Math.max(node.end - 1, 0)),
		signature: headOf(facts.source, node.start, headEnd(node)),
		...(doc !== undefined && { doc }),
		...(type && { type }),
		...(parameters && { parameters }),
		...(members.length > 0 && { members }),
	};
}

function isFreeze({ callee }: Of<"CallExpression">): boolean {
	if (callee.type !== "MemberExpression" || !isNamed(callee.object, "Object")) return false;
	return memberKey(callee)?.name === "freeze";
}

function classMembers(outer: Place, node: ClassNode, owner: TypeName): Member[] {
	const place = generic(outer, node);
	const instance = ownPlace(place, instanceOf(owner));
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
			const type = one.kind === "set" ? undefined : resultOf(generic(inner, one.value), one.value);
			const parameters = symbol === "method" ? parametersOf(inner, one.value) : undefined;
			return [describe(place, { ...common, symbol, type, parameters })];
		}
		const annotation = annotationOf(one);
		const kind = annotation
			? kindOfType(inner, annotation.typeAnnotation)
			: kindOfValue(inner, one.value ? unwrap(one.value) : undefined, 1);
		return [describe(place, { ...common, ...kind })];
	});
}

/** Members from parameter properties and, in JavaScript, from assignments to `this`. */
function constructorMembers(place: Place, node: FunctionNode): Member[] {
	const parameters = node.params.flatMap((one): Member[] => {
		if (one.type !== "TSParameterProperty") return [];
		const id = one.parameter.type === "AssignmentPattern" ? one.parameter.left : one.parameter;
		if (id.type !== "Identifier") return [];
		const type = typeOfAnnotation(place, id.typeAnnotation);
		return [describe(place, { key: id, node: one, symbol: "property", static: false, type })];
	});
	return place.facts.isJavaScript ? [...parameters, ...assignedMembers(place, node)] : parameters;
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
		place.facts.done.add(left);
		const made = unwrap(right);
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
			return [describe(place, { ...common, ...kindOfType(place, type) })];
		}
		const type = typeOfAnnotation(generic(place, one), one.returnType);
		const symbol = one.kind === "method" ? "method" : "property";
		const parameters = symbol === "method" ? parametersOf(place, one) : undefined;
		return [describe(place, { ...common, symbol, type, parameters })];
	});
}

function objectMembers(place: Place, node: Of<"ObjectExpression">, depth: number): Member[] {
	return node.properties.flatMap((one): Member[] => {
		const key = one.type === "Property" && keyOf(one.key, one.computed);
		if (!key) return [];
		const value = kindOfValue(place, unwrap(one.value), depth + 1);
		return [describe(place, { key, node: one, static: true, ...value })];
	});
}

function kindOfType(place: Place, type: Node | undefined): Kind {
	if (type?.type === "TSFunctionType") {
		const parameters = parametersOf(place, type);
		return {
			symbol: "method",
			type: typeOfAnnotation(generic(place, type), type.returnType),
			parameters,
		};
	}
	const members = type?.type === "TSTypeLiteral" ? literalMembers(place, type) : [];
	return { symbol: "property", type: typeOfAnnotation(place, type), members };
}

function literalMembers(place: Place, type: Of<"TSTypeLiteral">): Member[] {
	return typeMembers(place, type.members).map((one) => ({ ...one, static: true }));
}

function kindOfValue(place: Place, value: Node | undefined, depth: number): Kind {
	if (!value) return { symbol: "property" };
	if (isFunction(value)) {
		const parameters = parametersOf(place, value);
		return { symbol: "method", type: resultOf(generic(place, value), value), parameters };
	}
	const isObject = value.type === "ObjectExpression" && depth <= MAX_DEPTH;
	const members = isObject ? objectMembers(place, value, depth) : [];
	return { symbol: "property", type: typeOfExpression(place, value), members };
}

function moduleMembers(place: Place, node: Of<"TSModuleDeclaration">, owner: TypeName): Member[] {
	const { body, id } = node;
	if (!body || id.type === "Literal") return [];
	const inner = innerOwner(id, owner);
	const ambient = isAmbient(place, node);
	const own: Member[] = [];
	if (inner) {
		const within = { facts: place.facts, scope: enterNamespace(place, body, inner, ambient) };
		for (const statement of body.body) {
			if (statement.type !== "ExportNamedDeclaration") {
				if (ambient) own.push(...declaredMembers(within, statement, inner));
			} else if (statement.declaration) {
				own.push(...declaredMembers(within, statement.declaration, inner));
			} else own.push(...statement.specifiers.map((one) => reExported(within, one)));
		}
	}
	// `namespace A.B.C` is three nested namespaces.
	const [, ...names] = dotted(id);
	return names.reduceRight(
		(members, key) => [describe(place, { key, node, symbol: "namespace", static: true, members })],
		own,
	);
}

function reExported(place: Place, node: Of<"ExportSpecifier">): Member {
	const found = place.scope.lookup(moduleName(node.local).name, ANY);
	const type = found && typeOfName(place.facts, found);
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
	const parameters = parametersOf(place, node);
	return [describe(place, { key, node, symbol, static: true, members, type, parameters })];
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
