import type { TypeName } from "../facts.ts";
import { bare, isConst, isFunction, isIndex, keyOf, memberKey, type Node, type Of } from "./ast.ts";
import { exportsAccess } from "./exports.ts";
import type { FactsBuilder } from "./facts-builder.ts";
import {
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
	close,
	destructure,
	forEach,
	fromName,
	fromType,
	OTHER,
	only,
	type Reached,
	type Visits,
	type Walk,
} from "./walk.ts";

/** Records arguments and computed keys, but not the use of the expression itself. */
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
		const own = exportsAccess(scope, node)?.key;
		const binding = own && facts.commonJsNames.get(own.name);
		if (own && binding !== undefined) {
			return { binding, start: own.start, side: "value", steps: [] };
		}
	}
	const object = walk.reach(node.object);
	const key = memberKey(node);
	if (key && !isIndex(key)) return access(facts, object, key);
	close(facts, object, "read");
	if (!key) walk.visit(node.property);
	return fromType(elementOf(walk, node.object));
}

function reachCall(walk: Walk, node: Of<"CallExpression">): Reached {
	const { facts, scope } = walk;
	const { callee } = node;
	const [callback] = node.arguments;
	if (callee.type === "MemberExpression" && memberKey(callee)?.name === "then") {
		// The callback gets the promised value; types are stored unwrapped.
		const promised = typeOfExpression(walk, callee.object);
		close(facts, walk.reach(callee.object), "read");
		if (promised && isFunction(callback)) facts.given.set(callback, promised);
		walk.visitAll(node.arguments);
		return undefined;
	}
	const element = elementBy(WITH_CALLBACK, walk, node);
	if (element && isFunction(callback)) facts.given.set(callback, element);
	const called = walk.reach(callee);
	walk.visit(node.typeArguments);
	walk.visitAll(node.arguments);
	const given = elementBy(ONE_ELEMENT, walk, node);
	if (given) {
		close(facts, called, "call");
		return fromType(given);
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
	expect(walk.facts, expression, typeOfAnnotation(walk, typeAnnotation));
	const inner = walk.reach(expression);
	walk.visit(typeAnnotation);
	if (node.type === "TSSatisfiesExpression") return inner;
	close(walk.facts, inner, "read");
	return fromType(typeOfAnnotation(walk, typeAnnotation));
}

/** The literal's keys count as uses of the type's members. */
export function expect(
	facts: FactsBuilder,
	node: Node | null | undefined,
	type: TypeName | undefined,
): void {
	if (!type || !node) return;
	const value = node.type === "AwaitExpression" ? node : bare(node);
	if (value.type === "ObjectExpression") facts.expected.set(value, type);
	else if (value.type === "ConditionalExpression") {
		expect(facts, value.consequent, type);
		expect(facts, value.alternate, type);
	}
}

function visitObject(walk: Walk, node: Of<"ObjectExpression">): void {
	const { facts } = walk;
	const owner = facts.owners.get(node);
	const expected = facts.expected.get(node);
	const self = owner ?? expected;
	if (!self) {
		walk.visitAll(node.properties);
		return;
	}
	for (const property of node.properties) {
		const key = property.type === "Property" && keyOf(property.key, property.computed);
		if (!key) {
			walk.visit(property);
			continue;
		}
		if (expected) close(facts, access(facts, fromType(expected), key), "write");
		const { value } = property;
		const inner = bare(value);
		if (inner.type === "ObjectExpression") {
			const part = member(self, key.name);
			if (part) (owner ? facts.owners : facts.expected).set(inner, part);
		}
		if (value.type === "FunctionExpression") {
			facts.methods.add(value);
			walk.within(new Scope(walk.scope, { self }), () => walk.visit(property));
		} else walk.visit(property);
	}
}

const read = (walk: Walk, node: Node): void => walk.use(node, "read");

export const expressionVisits: Visits = {
	...forEach("Identifier MemberExpression CallExpression NewExpression ImportExpression", read),
	...forEach("ChainExpression AwaitExpression TSNonNullExpression TSAsExpression", read),
	...forEach("TSInstantiationExpression TSTypeAssertion TSSatisfiesExpression", read),
	ObjectExpression: visitObject,
	...forEach("MetaProperty BreakStatement ContinueStatement JSXClosingFragment", only()),
	LabeledStatement: only("body"),
	AssignmentExpression(walk, node: Of<"AssignmentExpression">) {
		const { facts } = walk;
		if (facts.done.has(node)) return;
		// Also inside functions, as in UMD wrappers.
		const mayBeCommonJs = facts.isJavaScript && !facts.isModule && !facts.commonJs;
		if (mayBeCommonJs && exportsAccess(walk.scope, node.left)) facts.commonJs = true;
		if (node.left.type === "ObjectPattern") destructure(walk, node.left, { init: node.right });
		if (!facts.done.has(node.left)) assign(walk, node.left);
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
			if (self && key) close(walk.facts, access(walk.facts, self, key), "read");
		} else walk.visit(node.left);
		walk.visit(node.right);
	},

	JSXOpeningElement(walk, node: Of<"JSXOpeningElement">) {
		element(walk, node.name);
		walk.visit(node.typeArguments);
		walk.visitAll(node.attributes);
	},
	JSXClosingElement: (walk, node: Of<"JSXClosingElement">) => element(walk, node.name),
	JSXAttribute: only("value"),
};

/** Lower-case names without a dot are intrinsic elements. */
function element(walk: Walk, name: Node): void {
	if (name.type === "JSXIdentifier" && /^[a-z]|-/.test(name.name)) return;
	close(walk.facts, reachElement(walk, name), "jsx");
}

function reachElement(walk: Walk, name: Node): Reached {
	if (name.type === "JSXMemberExpression") {
		const { start, name: key } = name.property;
		return access(walk.facts, reachElement(walk, name.object), { start, name: key });
	}
	if (name.type !== "JSXIdentifier") return OTHER;
	return name.name === "this" ? fromType(walk.scope.enclosing("self")) : reachName(walk, name);
}
