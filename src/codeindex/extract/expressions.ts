import type { TypeName } from "../facts.ts";
import {
	annotationOf,
	isConst,
	isFunction,
	isIndex,
	keyOf,
	memberKey,
	type Node,
	type Of,
	unwrap,
} from "./ast.ts";
import { exportsAccess } from "./exports.ts";
import type { FactsBuilder } from "./facts-builder.ts";
import { parameterName } from "./parameters.ts";
import {
	calledFunction,
	elementBy,
	elementOf,
	member,
	ONE_ELEMENT,
	typeOfAnnotation,
	typeOfExpression,
	typeOfModule,
	WITH_CALLBACK,
} from "./receivers.ts";
import { Scope, VALUE } from "./scope.ts";
import {
	access,
	assign,
	call,
	destructure,
	forTypes,
	fromName,
	fromType,
	OTHER,
	type Reached,
	record,
	type Visits,
	visitOnly,
	type Walk,
} from "./walk.ts";

/** Finds the binding of an expression. Records its arguments and computed keys, but not its use. */
export function reach(walk: Walk, node: Node): Reached {
	const { facts, scope } = walk;
	switch (node.type) {
		case "Identifier":
			return reachName(walk, node);
		case "ThisExpression":
			return fromType(scope.enclosing("self"));
		case "Super":
			return fromType(scope.enclosing("base"));
		case "MemberExpression":
			return reachMember(walk, node);
		case "CallExpression":
			return fromType(typeOfModule(walk, node)) ?? reachCall(walk, node);
		case "NewExpression": {
			const made = walk.reach(node.callee);
			walk.visit(node.typeArguments);
			expectParameters(walk, node);
			walk.visitAll(node.arguments);
			return call(facts, made, "new");
		}
		case "ImportExpression": {
			const module = fromType(typeOfModule(walk, node));
			if (!module) walk.visitParts(node);
			return module ?? OTHER;
		}
		case "ChainExpression":
		case "TSNonNullExpression":
			return walk.reach(node.expression);
		case "AwaitExpression":
			return walk.reach(node.argument);
		case "TSInstantiationExpression": {
			const reached = walk.reach(node.expression);
			walk.visit(node.typeArguments);
			return reached;
		}
		case "TSAsExpression":
		case "TSTypeAssertion":
		case "TSSatisfiesExpression":
			return reachCast(walk, node);
		case "LogicalExpression":
		case "ConditionalExpression":
		case "AssignmentExpression":
			walk.visit(node);
			return fromType(typeOfExpression(walk, node));
		case "Literal":
		case "TemplateLiteral":
		case "ArrayExpression":
		case "ObjectExpression":
		case "MetaProperty":
			walk.visit(node);
			return OTHER;
		default:
			walk.visit(node);
			return undefined;
	}
}

function reachName({ facts, scope }: Walk, id: Of<"Identifier"> | Of<"JSXIdentifier">): Reached {
	const name = scope.lookup(id.name, VALUE);
	return name ? fromName(facts, name, id) : OTHER;
}

function reachMember(walk: Walk, node: Of<"MemberExpression">): Reached {
	const { facts, scope } = walk;
	if (facts.commonJsNames.size > 0) {
		const isOfThis = node.object.type === "ThisExpression" && scope.hasExportsAsThis();
		const own = isOfThis ? memberKey(node) : exportsAccess(scope, node)?.key;
		const binding = own && facts.commonJsNames.get(own.name);
		if (own && binding !== undefined) {
			return { binding, start: own.start, side: "value", steps: [] };
		}
	}
	const object = walk.reach(node.object);
	const key = memberKey(node);
	if (key && !isIndex(key)) return access(facts, object, key);
	record(facts, object, "read");
	if (!key) walk.visit(node.property);
	return fromType(elementOf(walk, node.object));
}

function reachCall(walk: Walk, node: Of<"CallExpression">): Reached {
	const { facts, scope } = walk;
	const { callee } = node;
	const [callback] = node.arguments;
	if (callee.type === "MemberExpression" && memberKey(callee)?.name === "then") {
		// The callback receives the resolved value. Types are stored without `Promise`.
		const promised = typeOfExpression(walk, callee.object);
		record(facts, walk.reach(callee.object), "read");
		if (promised && isFunction(callback)) facts.callbackArguments.set(callback, promised);
		walk.visitAll(node.arguments);
		return undefined;
	}
	const element = elementBy(WITH_CALLBACK, walk, node);
	if (element && isFunction(callback)) facts.callbackArguments.set(callback, element);
	const called = walk.reach(callee);
	walk.visit(node.typeArguments);
	expectParameters(walk, node);
	walk.visitAll(node.arguments);
	const item = elementBy(ONE_ELEMENT, walk, node);
	if (item) {
		record(facts, called, "call");
		return fromType(item);
	}
	const isLocal =
		callee.type === "Identifier" && scope.lookup(callee.name, VALUE)?.kind === "local";
	return isLocal ? fromType(typeOfExpression(walk, node)) : call(facts, called, "call");
}

function reachCast(
	walk: Walk,
	node: Of<"TSAsExpression"> | Of<"TSTypeAssertion"> | Of<"TSSatisfiesExpression">,
): Reached {
	const { expression, typeAnnotation } = node;
	if (isConst(typeAnnotation)) return walk.reach(expression);
	expectType(walk.facts, expression, typeOfAnnotation(walk, typeAnnotation));
	const inner = walk.reach(expression);
	walk.visit(typeAnnotation);
	if (node.type === "TSSatisfiesExpression") return inner;
	record(walk.facts, inner, "read");
	return fromType(typeOfAnnotation(walk, typeAnnotation));
}

/** Makes the keys of an object literal count as uses of the type's members. */
export function expectType(
	facts: FactsBuilder,
	node: Node | null | undefined,
	type: TypeName | undefined,
): void {
	if (!type || !node) return;
	const value = node.type === "AwaitExpression" ? node : unwrap(node);
	if (value.type === "ObjectExpression") facts.expected.set(value, type);
	else if (value.type === "ConditionalExpression") {
		expectType(facts, value.consequent, type);
		expectType(facts, value.alternate, type);
	}
}

/** Gives object literals among the arguments the declared types of the parameters. */
function expectParameters(
	walk: Walk,
	{ callee, arguments: given }: Of<"CallExpression"> | Of<"NewExpression">,
): void {
	if (!given.some(mayBeLiteral)) return;
	const found = callee.type === "Identifier" ? calledFunction(walk, callee.name) : undefined;
	if (!found) {
		expectParametersOf(walk, callee, given);
		return;
	}
	found.node.params.forEach((parameter, index) => {
		const value = given[index];
		if (value?.type === "SpreadElement" || parameter.type === "RestElement") return;
		const type = typeOfAnnotation(found.place, annotationOf(parameterName(parameter)));
		expectType(walk.facts, value, type);
	});
}

/** The function may be in another file, so its parameters are steps that the linker follows. */
function expectParametersOf(walk: Walk, callee: Node, given: readonly Node[]): void {
	const type = callee.type === "Super" ? undefined : typeOfExpression(walk, callee);
	if (!type || isOfPlatform(walk.facts, type)) return;
	for (const [index, value] of given.entries()) {
		if (value.type === "SpreadElement") return;
		expectType(walk.facts, value, member(type, `(${index}`));
	}
}

function isOfPlatform({ bindings, requests }: FactsBuilder, { binding }: TypeName): boolean {
	const found = bindings[binding];
	if (found?.kind !== "imported") return false;
	return requests[found.request]?.specifier.startsWith("node:") === true;
}

function mayBeLiteral({ type }: Node): boolean {
	return type === "ObjectExpression" || type === "ConditionalExpression" || type.startsWith("TS");
}

function visitObject(walk: Walk, node: Of<"ObjectExpression">): void {
	const { facts } = walk;
	const owner = facts.owners.get(node);
	const expected = facts.expected.get(node);
	const self = owner ?? expected;
	for (const property of node.properties) {
		const key = property.type === "Property" && keyOf(property.key, property.computed);
		if (!key) {
			walk.visit(property);
			continue;
		}
		const isUndecided = !self || facts.undecided.has(node);
		if (isUndecided && !expected) access(facts, undefined, key);
		if (expected) record(facts, access(facts, fromType(expected), key), "write");
		const { value } = property;
		const inner = unwrap(value);
		if (self && inner.type === "ObjectExpression") {
			const part = member(self, key.name);
			if (part) (owner ? facts.owners : facts.expected).set(inner, part);
			const declared = owner && expected && member(expected, key.name);
			if (declared) facts.expected.set(inner, declared);
			else if (facts.undecided.has(node)) facts.undecided.add(inner);
		}
		if (self && value.type === "FunctionExpression") {
			facts.methods.add(value);
			walk.within(new Scope(walk.scope, { self }), () => walk.visit(property));
		} else walk.visit(property);
	}
}

const read = (walk: Walk, node: Node): void => walk.use(node, "read");

export const expressionVisits: Visits = {
	...forTypes("Identifier MemberExpression CallExpression NewExpression ImportExpression", read),
	...forTypes("ChainExpression AwaitExpression TSNonNullExpression TSAsExpression", read),
	...forTypes("TSInstantiationExpression TSTypeAssertion TSSatisfiesExpression", read),
	ObjectExpression: visitObject,
	...forTypes("MetaProperty BreakStatement ContinueStatement JSXClosingFragment", visitOnly()),
	LabeledStatement: visitOnly("body"),
	AssignmentExpression(walk, node: Of<"AssignmentExpression">) {
		const { facts } = walk;
		if (facts.done.has(node)) return;
		// Assignments to `exports` inside functions, as in UMD wrappers, also make the file CommonJS.
		const mayBeCommonJs = facts.isJavaScript && !facts.isModule && !facts.commonJs;
		if (mayBeCommonJs && exportsAccess(walk.scope, node.left)) facts.commonJs = true;
		if (node.left.type === "ObjectPattern") destructure(walk, node.left, { init: node.right });
		if (node.left.type === "MemberExpression" && facts.memberTargets.has(node.left)) {
			walk.use(node.left.object, "read");
		} else if (!facts.done.has(node.left)) assign(walk, node.left);
		walk.visit(node.right);
	},
	UpdateExpression: (walk, node: Of<"UpdateExpression">) => assign(walk, node.argument),
	TaggedTemplateExpression(walk, node: Of<"TaggedTemplateExpression">) {
		walk.use(node.tag, "call");
		walk.visit(node.typeArguments);
		walk.visit(node.quasi);
	},
	Property(walk, node: Of<"Property">) {
		if (walk.facts.done.has(node)) return;
		if (node.computed) walk.visit(node.key);
		walk.visit(node.value);
	},
	BinaryExpression(walk, node: Of<"BinaryExpression">) {
		if (node.left.type === "PrivateIdentifier") {
			const self = fromType(walk.scope.enclosing("self"));
			const key = keyOf(node.left, false);
			if (self && key) record(walk.facts, access(walk.facts, self, key), "read");
		} else walk.visit(node.left);
		walk.visit(node.right);
	},

	JSXOpeningElement(walk, node: Of<"JSXOpeningElement">) {
		element(walk, node.name);
		walk.visit(node.typeArguments);
		walk.visitAll(node.attributes);
	},
	JSXClosingElement: (walk, node: Of<"JSXClosingElement">) => element(walk, node.name),
	JSXAttribute(walk, node: Of<"JSXAttribute">) {
		// The type of the component's properties is unknown.
		if (node.name.type === "JSXIdentifier") access(walk.facts, undefined, node.name);
		walk.visit(node.value);
	},
};

/** Skips intrinsic elements, such as `div` and `my-element`. */
function element(walk: Walk, name: Node): void {
	if (name.type === "JSXIdentifier" && /^[a-z]|-/.test(name.name)) return;
	record(walk.facts, reachElement(walk, name), "jsx");
}

function reachElement(walk: Walk, name: Node): Reached {
	if (name.type === "JSXMemberExpression") {
		const { start, name: key } = name.property;
		return access(walk.facts, reachElement(walk, name.object), { start, name: key });
	}
	if (name.type !== "JSXIdentifier") return OTHER;
	return name.name === "this" ? fromType(walk.scope.enclosing("self")) : reachName(walk, name);
}
