import { isDeepStrictEqual } from "node:util";
import type { Step, TypeName } from "../facts.ts";
import {
	dotted,
	type FunctionNode,
	isFunction,
	isFunctionDeclaration,
	isIndex,
	type Key,
	keyOf,
	memberKey,
	type Node,
	type Of,
	unwrap,
} from "./ast.ts";
import type { FactsBuilder, Place } from "./facts-builder.ts";
import { moduleCall } from "./imports.ts";
import { type LocalName, type LocalValue, NAMESPACE, type Name, TYPE, VALUE } from "./scope.ts";

export const MAX_STEPS = 4;

/** The type of a receiver. Undefined: unknown. */
type Receiver = TypeName | undefined;

export function typeOfExpression(place: Place, expression: Node): Receiver {
	const node = unwrap(expression);
	switch (node.type) {
		case "Identifier": {
			const name = place.scope.lookup(node.name, VALUE);
			return name && typeOfName(place.facts, name);
		}
		case "ThisExpression":
			return place.scope.enclosing("self");
		case "Super":
			return place.scope.enclosing("base");
		case "MemberExpression": {
			const key = memberKey(node);
			if (!key || isIndex(key)) return elementOf(place, node.object);
			return member(typeOfExpression(place, node.object), key.name);
		}
		case "NewExpression":
			return instanceOf(typeOfExpression(place, node.callee));
		case "CallExpression":
			return (
				typeOfModule(place, node) ?? elementBy(ONE_ELEMENT, place, node) ?? typeOfCall(place, node)
			);
		case "ImportExpression":
			return typeOfModule(place, node);
		case "TSAsExpression":
		case "TSTypeAssertion":
			return typeOfAnnotation(place, node.typeAnnotation);
		case "AssignmentExpression":
			return typeOfExpression(place, node.right);
		case "LogicalExpression":
			return typeOfExpression(place, node.left) ?? typeOfExpression(place, node.right);
		case "ConditionalExpression":
			return eitherType(
				typeOfExpression(place, node.consequent),
				typeOfExpression(place, node.alternate),
			);
		default:
			return undefined;
	}
}

/** Two known types make a union, unless they are equal. */
function eitherType(one: Receiver, other: Receiver): Receiver {
	if (!one || !other) return one ?? other;
	return isDeepStrictEqual(one, other) ? one : undefined;
}

/** Supports `Foo`, `ns.Foo`, `typeof foo` and the like, utility types of these such as `Promise`, and unions with `undefined`. */
export function typeOfAnnotation(place: Place, type: Node | null | undefined): Receiver {
	switch (type?.type) {
		case "TSTypeAnnotation":
		case "TSParenthesizedType":
		case "TSTypeOperator":
			return typeOfAnnotation(place, type.typeAnnotation);
		case "TSTypeReference":
			return typeOfReference(place, type);
		case "TSUnionType": {
			const others = type.types.filter((part) => !NOTHING.has(part.type));
			return others.length === 1 ? typeOfAnnotation(place, others[0]) : undefined;
		}
		case "TSTypeQuery":
			return type.exprName.type === "TSImportType"
				? typeOfImportType(place, type.exprName, false)
				: typeOfEntity(place, type.exprName, VALUE);
		case "TSImportType":
			return typeOfImportType(place, type, true);
		case "TSThisType":
			return place.scope.enclosing("self");
		case "TSIndexedAccessType": {
			const { indexType, objectType } = type;
			const key = indexType.type === "TSLiteralType" ? keyOf(indexType.literal, true) : undefined;
			return key && member(typeOfAnnotation(place, objectType), key.name);
		}
		default:
			return undefined;
	}
}

const NOTHING = new Set(["TSUndefinedKeyword", "TSNullKeyword", "TSVoidKeyword"]);

/** Type of a function's result: its return type or else the type of its final `return`. */
export function resultOf(place: Place, node: FunctionNode): Receiver {
	if (node.returnType) return typeOfAnnotation(place, node.returnType);
	const { body } = node;
	if (!body || (node.type !== "ArrowFunctionExpression" && node.generator)) return undefined;
	// Supports only `new`, `as` and `import()`: names local to the body are unknown here.
	const last = body.type === "BlockStatement" ? body.body.at(-1) : undefined;
	const value =
		body.type === "BlockStatement" ? last?.type === "ReturnStatement" && last.argument : body;
	if (!value) return undefined;
	const made = unwrap(value);
	const isMade = MADE.has(made.type);
	return isMade ? typeOfExpression(place, made) : undefined;
}

const MADE = new Set(["NewExpression", "TSAsExpression", "ImportExpression"]);

export function typeOfName(facts: FactsBuilder, name: Name): Receiver {
	if (name.kind === "binding") return { binding: name.binding, side: "value" };
	if (name.kind === "member") return member(name.owner, name.name);
	if (name.type === undefined) {
		// Prevents endless recursion if a name is initialised with itself.
		name.type = null;
		name.type = typeOfLocal(facts, name) ?? null;
	}
	return name.type ?? undefined;
}

export function typeOfOwner({ facts, scope }: Place, name: string, meaning: number): Receiver {
	const found = scope.lookup(name, meaning);
	return found && found.kind !== "local" ? typeOfName(facts, found) : undefined;
}

export function member(owner: TypeName | null | undefined, name: string): Receiver {
	if (!owner || (owner.path?.length ?? 0) >= MAX_STEPS) return undefined;
	return { ...owner, path: [...(owner.path ?? []), { name }] };
}

export function memberAlong(first: Receiver, names: readonly Key[]): Receiver {
	return names.reduce((owner, { name }) => member(owner, name), first);
}

/** The type of a call's or construction's result, or of a value of the named type. */
export function instanceOf(type: Receiver): Receiver {
	if (!type) return undefined;
	if (!type.path?.length) return type.side === "value" ? { ...type, side: "instance" } : undefined;
	const last = type.path.at(-1) as Step;
	if (last.called) return undefined;
	return { ...type, path: [...type.path.slice(0, -1), { ...last, called: true }] };
}

function typeOfLocal(facts: FactsBuilder, { value, scope, bound }: LocalName): Receiver {
	const place = { facts, scope };
	if (bound) return typeOfAnnotation(place, bound);
	return value && (value.path ?? []).reduce(member, typeOfValue(place, value));
}

export function typeOfValue(place: Place, value: LocalValue): Receiver {
	if (value.annotation) return typeOfAnnotation(place, value.annotation);
	if (value.contextual) return value.contextual;
	if (!value.init) return undefined;
	return value.element ? elementOf(place, value.init) : typeOfExpression(place, value.init);
}

export function typeOfModule(place: Place, node: Node): Receiver {
	const call = moduleCall(place, node);
	if (!call) return undefined;
	const binding = place.facts.namelessImport(call.request, call.imported, call.start);
	return { binding, side: "value" };
}

function typeOfCall(place: Place, node: Of<"CallExpression">): Receiver {
	const callee = unwrap(node.callee);
	if (callee.type === "Identifier") {
		const name = place.scope.lookup(callee.name, VALUE);
		if (name?.kind === "local") return resultOfLocal(place.facts, name);
	}
	return instanceOf(typeOfExpression(place, callee));
}

function resultOfLocal(facts: FactsBuilder, name: LocalName): Receiver {
	const { value, scope } = name;
	const inner = value?.function ?? value?.init;
	if (value?.function || (isFunction(inner) && !value?.path)) {
		return resultOf({ facts, scope }, inner as FunctionNode);
	}
	return instanceOf(typeOfName(facts, name));
}

/** The function or constructor that a name of this file stands for, and where its types are looked up. */
export function calledFunction(
	{ facts, scope }: Place,
	name: string,
): { readonly node: FunctionNode; readonly place: Place } | undefined {
	const found = scope.lookup(name, VALUE);
	if (found?.kind === "binding") {
		const nodes = facts.declaring.get(found.binding) ?? [];
		// Overloads have several parameter lists.
		const node = nodes.length === 1 ? functionIn(nodes[0]) : undefined;
		return (
			node && { node, place: { facts, scope: facts.top.withTypeParameters(node.typeParameters) } }
		);
	}
	const value = found?.kind === "local" ? found.value : undefined;
	if (found?.kind !== "local" || !value || value.path || value.annotation) return undefined;
	const node = value.function ?? functionIn(value.init);
	return (
		node && { node, place: { facts, scope: found.scope.withTypeParameters(node.typeParameters) } }
	);
}

function functionIn(node: Node | undefined): FunctionNode | undefined {
	const value = node?.type === "VariableDeclarator" ? node.init : node;
	const inner = value && unwrap(value);
	if (inner && (isFunction(inner) || isFunctionDeclaration(inner))) return inner;
	if (inner?.type !== "ClassDeclaration" && inner?.type !== "ClassExpression") return undefined;
	const made = inner.body.body.filter((one) => {
		return one.type === "MethodDefinition" && one.kind === "constructor";
	});
	const [only, more] = made;
	return only?.type === "MethodDefinition" && !more ? only.value : undefined;
}

// Types that are treated like their first type argument.
const TRANSPARENT = new Set(
	"Promise PromiseLike Awaited Readonly Partial Required Pick Omit NonNullable".split(" "),
);

function typeOfReference(place: Place, type: Of<"TSTypeReference">): Receiver {
	const { typeName } = type;
	if (typeName.type !== "Identifier" || place.scope.lookup(typeName.name, TYPE)) {
		return typeOfEntity(place, typeName, TYPE);
	}
	const [first] = type.typeArguments?.params ?? [];
	if (!first) return undefined;
	if (TRANSPARENT.has(typeName.name)) return typeOfAnnotation(place, first);
	const isMade = typeName.name === "InstanceType" || typeName.name === "ReturnType";
	return isMade ? instanceOf(typeOfAnnotation(place, first)) : undefined;
}

/** The type of a value of `Foo` (`TYPE`), or of `foo` itself (`VALUE`), as after `typeof`. */
export function typeOfEntity(
	place: Place,
	node: Node,
	meaning: typeof TYPE | typeof VALUE,
): Receiver {
	const whole = typeOfPlainEntity(place, node, meaning);
	if (meaning === VALUE || !whole) return whole;
	// For a type parameter, `whole` is already the type of a value.
	const isParameter =
		node.type === "Identifier" && place.scope.lookup(node.name, TYPE)?.kind === "local";
	return isParameter ? whole : instanceOf(whole);
}

function typeOfPlainEntity(place: Place, node: Node, meaning: number): Receiver {
	if (node.type === "Identifier") {
		const name = place.scope.lookup(node.name, meaning);
		return name && typeOfName(place.facts, name);
	}
	if (node.type === "ThisExpression") return place.scope.enclosing("self");
	const left = meaning === VALUE ? VALUE : NAMESPACE;
	if (node.type === "MemberExpression") {
		const key = memberKey(node);
		return key && member(typeOfPlainEntity(place, node.object, left), key.name);
	}
	if (node.type === "TSQualifiedName") {
		return member(typeOfPlainEntity(place, node.left, left), node.right.name);
	}
	return undefined;
}

function typeOfImportType(
	{ facts }: Place,
	{ source, qualifier }: Of<"TSImportType">,
	isType: boolean,
): Receiver {
	const binding = facts.typeImport(source.value, source.start);
	const whole = memberAlong({ binding, side: "value" }, dotted(qualifier));
	return isType && qualifier ? instanceOf(whole) : whole;
}

/** Type of a list's elements, if the list's type is written as `Foo[]` or similar. */
export function elementOf(place: Place, list: Node): Receiver {
	const node = unwrap(list);
	if (node.type === "Identifier") {
		const name = place.scope.lookup(node.name, VALUE);
		if (name?.kind !== "local" || !name.value || name.value.path) return undefined;
		const { annotation, init } = name.value;
		const outer = { facts: place.facts, scope: name.scope };
		if (annotation) return typeOfElement(outer, annotation);
		// The initialiser must precede this use of the name, to prevent endless recursion.
		return init && init.end < node.start ? elementOf(outer, init) : undefined;
	}
	if (node.type === "TSAsExpression") return typeOfElement(place, node.typeAnnotation);
	return elementBy(SAME_ELEMENTS, place, node);
}

export function elementBy(methods: ReadonlySet<string>, place: Place, call: Node): Receiver {
	if (call.type !== "CallExpression" || call.callee.type !== "MemberExpression") return undefined;
	const key = memberKey(call.callee);
	return key && methods.has(key.name) ? elementOf(place, call.callee.object) : undefined;
}

const SAME_ELEMENTS = new Set(["filter", "slice", "reverse", "sort", "toSorted", "toReversed"]);
export const ONE_ELEMENT = new Set(["at", "find", "findLast", "pop", "shift"]);
/** Methods that pass an element as first argument to their callback. */
export const WITH_CALLBACK = new Set(
	"map flatMap filter find findLast findIndex findLastIndex forEach some every".split(" "),
);
const LISTS = new Set("Array ReadonlyArray Set ReadonlySet Iterable AsyncIterable".split(" "));

function typeOfElement(place: Place, type: Node): Receiver {
	if (type.type === "TSArrayType") return typeOfAnnotation(place, type.elementType);
	if (type.type === "TSTypeOperator") return typeOfElement(place, type.typeAnnotation);
	if (type.type !== "TSTypeReference" || type.typeName.type !== "Identifier") return undefined;
	const isList = LISTS.has(type.typeName.name);
	return isList ? typeOfAnnotation(place, type.typeArguments?.params[0]) : undefined;
}
