import type { Step, TypeName } from "../facts.ts";
import { bare, type FunctionNode, isFunction, isIndex, keyOf, type Node, type Of } from "./ast.ts";
import { type Draft, namelessImport, request } from "./draft.ts";
import { elementGiven, elementOf } from "./elements.ts";
import { bindingOfModule, moduleCall } from "./modules.ts";
import {
	enclosing,
	type LocalName,
	type LocalValue,
	lookup,
	type Name,
	type Scope,
	SPACE,
	TYPE,
	VALUE,
} from "./scope.ts";

/** More names than this are not followed. */
export const MAX_STEPS = 4;

/** What an expression's value is, as far as names of this file tell. */
export function typeOfExpression(
	draft: Draft,
	scope: Scope,
	expression: Node,
): TypeName | undefined {
	const node = bare(expression);
	switch (node.type) {
		case "Identifier": {
			const name = lookup(scope, node.name, VALUE);
			return name && typeOfName(draft, name);
		}
		case "ThisExpression":
			return enclosing(scope, "self");
		case "Super":
			return enclosing(scope, "base");
		case "MemberExpression": {
			const key = keyOf(node.property, node.computed);
			if (!key || isIndex(key)) return elementOf(draft, scope, node.object);
			return member(typeOfExpression(draft, scope, node.object), key.name);
		}
		case "NewExpression":
			return given(typeOfExpression(draft, scope, node.callee));
		case "CallExpression":
			return (
				typeOfModule(draft, scope, node) ??
				elementGiven(draft, scope, node) ??
				typeOfCall(draft, scope, node)
			);
		case "ImportExpression":
			return typeOfModule(draft, scope, node);
		case "TSAsExpression":
		case "TSTypeAssertion":
			return typeOfAnnotation(draft, scope, node.typeAnnotation);
		case "AssignmentExpression":
			return typeOfExpression(draft, scope, node.right);
		case "LogicalExpression":
			return (
				typeOfExpression(draft, scope, node.left) ?? typeOfExpression(draft, scope, node.right)
			);
		case "ConditionalExpression":
			return (
				typeOfExpression(draft, scope, node.consequent) ??
				typeOfExpression(draft, scope, node.alternate)
			);
		default:
			return undefined;
	}
}

/** What a value of the written type is: `Foo`, `ns.Foo`, `typeof foo`, promises of them, `| undefined`. */
export function typeOfAnnotation(
	draft: Draft,
	scope: Scope,
	type: Node | null | undefined,
): TypeName | undefined {
	switch (type?.type) {
		case "TSTypeAnnotation":
			return typeOfAnnotation(draft, scope, type.typeAnnotation);
		case "TSTypeReference":
			return typeOfReference(draft, scope, type);
		case "TSUnionType": {
			const others = type.types.filter((part) => !NOTHING.has(part.type));
			return others.length === 1 ? typeOfAnnotation(draft, scope, others[0]) : undefined;
		}
		case "TSTypeQuery":
			return type.exprName.type === "TSImportType"
				? typeOfImportType(draft, type.exprName, false)
				: typeOfEntity(draft, scope, type.exprName, VALUE);
		case "TSImportType":
			return typeOfImportType(draft, type, true);
		case "TSThisType":
			return enclosing(scope, "self");
		case "TSParenthesizedType":
		case "TSTypeOperator":
			return typeOfAnnotation(draft, scope, type.typeAnnotation);
		case "TSIndexedAccessType": {
			const { indexType, objectType } = type;
			const key = indexType.type === "TSLiteralType" ? keyOf(indexType.literal, true) : undefined;
			return key && member(typeOfAnnotation(draft, scope, objectType), key.name);
		}
		default:
			return undefined;
	}
}

const NOTHING = new Set(["TSUndefinedKeyword", "TSNullKeyword", "TSVoidKeyword"]);

/** What calling a function gives, by its return type or else by what it returns at its end. */
export function resultOf(draft: Draft, scope: Scope, node: FunctionNode): TypeName | undefined {
	if (node.returnType) return typeOfAnnotation(draft, scope, node.returnType);
	const { body } = node;
	if (!body || (node.type !== "ArrowFunctionExpression" && node.generator)) return undefined;
	// Names inside the body are not known out here, so only what needs none of them counts.
	const last = body.type === "BlockStatement" ? body.body.at(-1) : undefined;
	const value =
		body.type === "BlockStatement" ? last?.type === "ReturnStatement" && last.argument : body;
	if (!value) return undefined;
	const made = bare(value);
	const isMade = made.type === "NewExpression" || made.type === "TSAsExpression";
	return isMade ? typeOfExpression(draft, scope, made) : undefined;
}

/** What a name stands for. */
export function typeOfName(draft: Draft, name: Name): TypeName | undefined {
	if (name.kind === "binding") return { binding: name.binding, side: "value" };
	if (name.kind === "member") return member(name.owner, name.name);
	if (name.type === undefined) {
		// Until it is known it is unknown: a name may be initialised with itself.
		name.type = null;
		name.type = typeOfLocal(draft, name) ?? null;
	}
	return name.type ?? undefined;
}

/** The type of a member of something. */
export function member(of: TypeName | null | undefined, name: string): TypeName | undefined {
	if (!of || (of.path?.length ?? 0) >= MAX_STEPS) return undefined;
	return { ...of, path: [...(of.path ?? []), { name }] };
}

/** What calling or constructing something gives, or a value of the type that it names. */
export function given(of: TypeName | undefined): TypeName | undefined {
	if (!of) return undefined;
	if (!of.path?.length) return of.side === "value" ? { ...of, side: "instance" } : undefined;
	const last = of.path.at(-1) as Step;
	if (last.called) return undefined;
	return { ...of, path: [...of.path.slice(0, -1), { ...last, called: true }] };
}

function typeOfLocal(draft: Draft, { value, scope, bound }: LocalName): TypeName | undefined {
	if (bound) return typeOfAnnotation(draft, scope, bound);
	if (!value) return undefined;
	return through(typeOfValue(draft, scope, value), value.path);
}

/** The type of what a local name, or the pattern it stands in, is initialised with. */
export function typeOfValue(draft: Draft, scope: Scope, value: LocalValue): TypeName | undefined {
	if (value.annotation) return typeOfAnnotation(draft, scope, value.annotation);
	if (value.given) return value.given;
	if (!value.init) return undefined;
	return value.element
		? elementOf(draft, scope, value.init)
		: typeOfExpression(draft, scope, value.init);
}

function through(from: TypeName | undefined, path: readonly string[] = []): TypeName | undefined {
	return path.reduce(member, from);
}

function typeOfModule(draft: Draft, scope: Scope, node: Node): TypeName | undefined {
	const call = moduleCall(draft, scope, node);
	return call && { binding: bindingOfModule(draft, call), side: "value" };
}

function typeOfCall(draft: Draft, scope: Scope, node: Of<"CallExpression">): TypeName | undefined {
	const callee = bare(node.callee);
	if (callee.type === "Identifier") {
		const name = lookup(scope, callee.name, VALUE);
		if (name?.kind === "local") return resultOfLocal(draft, name);
	}
	return given(typeOfExpression(draft, scope, callee));
}

/** What calling a function gives that is declared inside another. */
export function resultOfLocal(draft: Draft, name: LocalName): TypeName | undefined {
	const { value, scope } = name;
	const inner = value?.function ?? value?.init;
	if (value?.function || (isFunction(inner) && !value?.path)) {
		return resultOf(draft, scope, inner as FunctionNode);
	}
	return given(typeOfName(draft, name));
}

// What these give has the members of their first argument.
const TRANSPARENT = new Set([
	"Promise",
	"PromiseLike",
	"Awaited",
	"Readonly",
	"Partial",
	"Required",
	"Pick",
	"Omit",
	"NonNullable",
]);

function typeOfReference(
	draft: Draft,
	scope: Scope,
	type: Of<"TSTypeReference">,
): TypeName | undefined {
	const { typeName } = type;
	if (typeName.type === "Identifier" && !lookup(scope, typeName.name, TYPE)) {
		const [first] = type.typeArguments?.params ?? [];
		if (!first) return undefined;
		const inner = () => typeOfAnnotation(draft, scope, first);
		if (TRANSPARENT.has(typeName.name)) return inner();
		const isMade = typeName.name === "InstanceType" || typeName.name === "ReturnType";
		return isMade ? given(inner()) : undefined;
	}
	return typeOfEntity(draft, scope, typeName, TYPE);
}

/** A name after `extends` or `implements`. */
export function typeOfHeritage(draft: Draft, scope: Scope, node: Node): TypeName | undefined {
	return typeOfEntity(draft, scope, node, TYPE);
}

/** A dotted name. In a type it means a value of the type named, after `typeof` the thing itself. */
function typeOfEntity(
	draft: Draft,
	scope: Scope,
	node: Node,
	meaning: typeof TYPE | typeof VALUE,
): TypeName | undefined {
	const whole = typeOfPlainEntity(draft, scope, node, meaning);
	if (meaning === VALUE || !whole) return whole;
	// A type parameter already stands for a value of what it extends.
	const isParameter =
		node.type === "Identifier" && lookup(scope, node.name, TYPE)?.kind === "local";
	return isParameter ? whole : given(whole);
}

function typeOfPlainEntity(
	draft: Draft,
	scope: Scope,
	node: Node,
	meaning: number,
): TypeName | undefined {
	if (node.type === "Identifier") {
		const name = lookup(scope, node.name, meaning);
		return name && typeOfName(draft, name);
	}
	if (node.type === "ThisExpression") return enclosing(scope, "self");
	const left = meaning === VALUE ? VALUE : SPACE;
	if (node.type === "MemberExpression") {
		const key = keyOf(node.property, node.computed);
		return key && member(typeOfPlainEntity(draft, scope, node.object, left), key.name);
	}
	if (node.type === "TSQualifiedName") {
		return member(typeOfPlainEntity(draft, scope, node.left, left), node.right.name);
	}
	return undefined;
}

/** `import("x").T`, or `typeof import("x").t`. */
export function typeOfImportType(
	draft: Draft,
	type: Of<"TSImportType">,
	isType: boolean,
): TypeName | undefined {
	const { source, qualifier } = type;
	const index = request(draft, source.value, "type", source.start);
	const binding = namelessImport(draft, index, "*", source.start);
	const whole = through({ binding, side: "value" }, qualifier ? namesOf(qualifier) : []);
	return isType && qualifier ? given(whole) : whole;
}

function namesOf(qualifier: Node): string[] {
	if (qualifier.type === "TSQualifiedName") {
		return [...namesOf(qualifier.left), qualifier.right.name];
	}
	return qualifier.type === "Identifier" ? [qualifier.name] : [];
}
