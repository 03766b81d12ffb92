import type { UsageKind } from "../facts.ts";
import { isConst, isFunction, isIndex, keyOf, type Node, type Of } from "./ast.ts";
import { access, call, close, fromName, fromType, OTHER, type Reached } from "./chains.ts";
import { exportsAccess } from "./commonjs.ts";
import { destructure } from "./destructure.ts";
import { elementGiven, elementOf, elementPassed } from "./elements.ts";
import { bindingOfModule, moduleCall } from "./modules.ts";
import { expectCast, visitObject } from "./objects.ts";
import { typeOfAnnotation, typeOfExpression } from "./receivers.ts";
import { enclosing, lookup, VALUE } from "./scope.ts";
import type { Visits, Walk } from "./walk.ts";

/**
 * Visits an expression and says what it is, so that the code around can go on from there or note how it is used.
 * Everything inside that is used by itself (arguments, computed keys) is noted on the way.
 */
export function reach(walk: Walk, node: Node): Reached {
	const { draft, scope } = walk;
	switch (node.type) {
		case "Identifier": {
			const name = lookup(scope, node.name, VALUE);
			return name ? fromName(draft, name, node) : OTHER;
		}
		case "ThisExpression":
			return fromType(enclosing(scope, "self"));
		case "Super":
			return fromType(enclosing(scope, "base"));
		case "MemberExpression":
			return reachMember(walk, node);
		case "CallExpression":
			return reachCall(walk, node);
		case "NewExpression": {
			const made = walk.reach(node.callee);
			walk.visit(node.typeArguments);
			walk.visitAll(node.arguments);
			return call(draft, made, "new");
		}
		case "ImportExpression":
			return reachModule(walk, node) ?? plain(walk, node);
		case "ParenthesizedExpression":
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
			return fromType(typeOfExpression(draft, scope, node));
		case "Literal":
		case "TemplateLiteral":
		case "ArrayExpression":
		case "ObjectExpression":
		case "MetaProperty":
			return plain(walk, node);
		default:
			walk.visit(node);
			return undefined;
	}
}

function plain(walk: Walk, node: Node): Reached {
	if (node.type === "ObjectExpression") visitObject(walk, node);
	else if (node.type !== "MetaProperty") walk.visitParts(node);
	return OTHER;
}

function reachMember(walk: Walk, node: Of<"MemberExpression">): Reached {
	const { draft, scope } = walk;
	if (draft.commonJsNames.size > 0) {
		const own = exportsAccess(scope, node)?.key;
		const binding = own && draft.commonJsNames.get(own.name);
		if (own && binding !== undefined) {
			return { binding, start: own.start, side: "value", steps: [] };
		}
	}
	const object = walk.reach(node.object);
	const key = keyOf(node.property, node.computed);
	if (key && !isIndex(key)) return access(draft, object, key);
	close(draft, object, "read");
	if (!key) walk.visit(node.property);
	return fromType(elementOf(draft, scope, node.object));
}

function reachCall(walk: Walk, node: Of<"CallExpression">): Reached {
	const { draft, scope } = walk;
	const module = reachModule(walk, node);
	if (module) return module;
	const { callee } = node;
	if (isThen(callee)) {
		// What a promise is of, its callback is given; types leave promises out.
		const promised = typeOfExpression(draft, scope, callee.object);
		close(draft, walk.reach(callee.object), "read");
		const [first, ...others] = node.arguments;
		if (first && promised && isFunction(first)) walk.draft.given.set(first, promised);
		walk.visit(first);
		walk.visitAll(others);
		return undefined;
	}
	const element = elementPassed(draft, scope, node);
	const [callback] = node.arguments;
	if (element && callback && isFunction(callback)) draft.given.set(callback, element);
	const called = walk.reach(callee);
	walk.visit(node.typeArguments);
	walk.visitAll(node.arguments);
	const given = elementGiven(draft, scope, node);
	if (given) {
		close(draft, called, "call");
		return fromType(given);
	}
	const isLocal =
		callee.type === "Identifier" && lookup(scope, callee.name, VALUE)?.kind === "local";
	if (isLocal) return fromType(typeOfExpression(draft, scope, node));
	return call(draft, called, "call");
}

function isThen(callee: Node): callee is Of<"MemberExpression"> & { object: Node } {
	return (
		callee.type === "MemberExpression" && keyOf(callee.property, callee.computed)?.name === "then"
	);
}

function reachModule(walk: Walk, node: Node): Reached {
	const found = moduleCall(walk.draft, walk.scope, node);
	return found && { binding: bindingOfModule(walk.draft, found), side: "value", steps: [] };
}

function reachCast(
	walk: Walk,
	node: Of<"TSAsExpression"> | Of<"TSTypeAssertion"> | Of<"TSSatisfiesExpression">,
): Reached {
	const { draft, scope } = walk;
	expectCast(walk, node.expression, node.typeAnnotation);
	if (isConst(node.typeAnnotation)) return walk.reach(node.expression);
	const inner = walk.reach(node.expression);
	walk.visit(node.typeAnnotation);
	if (node.type === "TSSatisfiesExpression") return inner;
	close(draft, inner, "read");
	return fromType(typeOfAnnotation(draft, scope, node.typeAnnotation));
}

const read = (walk: Walk, node: Node): void => walk.use(node, "read");

/** Expressions, patterns that are assigned to, and JSX. */
export const expressionVisits: Visits = {
	Identifier: read,
	MemberExpression: read,
	CallExpression: read,
	NewExpression: read,
	ImportExpression: read,
	ChainExpression: read,
	ParenthesizedExpression: read,
	AwaitExpression: read,
	TSNonNullExpression: read,
	TSInstantiationExpression: read,
	TSAsExpression: read,
	TSTypeAssertion: read,
	TSSatisfiesExpression: read,
	ObjectExpression: visitObject,
	MetaProperty: nothing,
	BreakStatement: nothing,
	ContinueStatement: nothing,
	JSXClosingFragment: nothing,

	LabeledStatement: (walk, node: Of<"LabeledStatement">) => walk.visit(node.body),
	AssignmentExpression(walk, node: Of<"AssignmentExpression">) {
		const { draft } = walk;
		if (draft.done.has(node)) return;
		// Also inside a function, as in what wraps a file for several kinds of modules.
		const mayBeCommonJs = draft.isJavaScript && !draft.isModule && !draft.commonJs;
		if (mayBeCommonJs && exportsAccess(walk.scope, node.left)) draft.commonJs = true;
		if (node.left.type === "ObjectPattern") destructure(walk, node.left, { init: node.right });
		if (!draft.done.has(node.left)) assign(walk, node.left, "write");
		walk.visit(node.right);
	},
	UpdateExpression: (walk, node: Of<"UpdateExpression">) => assign(walk, node.argument, "write"),
	TaggedTemplateExpression(walk, node: Of<"TaggedTemplateExpression">) {
		walk.use(node.tag, "call");
		walk.visit(node.typeArguments);
		walk.visit(node.quasi);
	},
	Property(walk, node: Of<"Property">) {
		if (walk.draft.done.has(node)) return;
		if (node.computed) walk.visit(node.key);
		walk.visit(node.value);
	},
	BinaryExpression(walk, node: Of<"BinaryExpression">) {
		if (node.left.type === "PrivateIdentifier") {
			const self = fromType(enclosing(walk.scope, "self"));
			const key = keyOf(node.left, false);
			if (self && key) close(walk.draft, access(walk.draft, self, key), "read");
		} else walk.visit(node.left);
		walk.visit(node.right);
	},

	JSXOpeningElement(walk, node: Of<"JSXOpeningElement">) {
		element(walk, node.name);
		walk.visit(node.typeArguments);
		walk.visitAll(node.attributes);
	},
	JSXClosingElement: (walk, node: Of<"JSXClosingElement">) => element(walk, node.name),
	JSXAttribute: (walk, node: Of<"JSXAttribute">) => walk.visit(node.value),
};

function nothing(): void {}

/** Notes what is written to. Patterns are taken apart; their defaults and computed keys are read. */
export function assign(walk: Walk, target: Node, usage: UsageKind): void {
	switch (target.type) {
		case "ObjectPattern":
			for (const property of target.properties) {
				if (property.type === "RestElement") assign(walk, property.argument, usage);
				else {
					if (property.computed) walk.visit(property.key);
					assign(walk, property.value, usage);
				}
			}
			return;
		case "ArrayPattern":
			for (const element of target.elements) if (element) assign(walk, element, usage);
			return;
		case "AssignmentPattern":
			assign(walk, target.left, usage);
			walk.visit(target.right);
			return;
		case "RestElement":
			assign(walk, target.argument, usage);
			return;
		default:
			walk.use(target, usage);
	}
}

/** The name of a JSX element. Lower-case names without a dot are elements of the page, not of the program. */
function element(walk: Walk, name: Node): void {
	if (name.type === "JSXIdentifier" && /^[a-z]|-/.test(name.name)) return;
	close(walk.draft, reachElement(walk, name), "jsx");
}

function reachElement(walk: Walk, name: Node): Reached {
	const { draft, scope } = walk;
	if (name.type === "JSXMemberExpression") {
		const { start, name: key } = name.property;
		return access(draft, reachElement(walk, name.object), { start, name: key });
	}
	if (name.type !== "JSXIdentifier") return OTHER;
	if (name.name === "this") return fromType(enclosing(scope, "self"));
	const found = lookup(scope, name.name, VALUE);
	return found ? fromName(draft, found, name) : OTHER;
}
