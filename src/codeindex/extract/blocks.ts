import {
	annotationOf,
	type ClassNode,
	type FunctionNode,
	isNamed,
	keyOf,
	type Node,
	type Of,
} from "./ast.ts";
import { declareStatements } from "./declare.ts";
import { expectType } from "./expressions.ts";
import { instanceOf, typeOfAnnotation, typeOfExpression, typeOfOwner } from "./receivers.ts";
import { eachName, type LocalValue, Scope, TYPE, VALUE } from "./scope.ts";
import { assign, forTypes, type Visits, visitPattern, type Walk } from "./walk.ts";

export const blockVisits: Visits = {
	BlockStatement: (walk, node: Of<"BlockStatement">) => block(walk, node.body),
	StaticBlock: (walk, node: Of<"StaticBlock">) => block(walk, node.body, true),
	SwitchStatement(walk, node: Of<"SwitchStatement">) {
		walk.visit(node.discriminant);
		const statements = node.cases.flatMap((one) => one.consequent);
		block(walk, statements, false, () => walk.visitAll(node.cases));
	},
	ForStatement(walk, node: Of<"ForStatement">) {
		block(walk, node.init ? [node.init] : [], false, () => walk.visitParts(node));
	},
	ForInStatement: loop,
	ForOfStatement: loop,
	CatchClause(walk, node: Of<"CatchClause">) {
		const scope = new Scope(walk.scope);
		if (node.param) scope.declarePattern(node.param, {});
		walk.within(scope, () => {
			if (node.param) visitPattern(walk, node.param);
			walk.visit(node.body);
		});
	},
	VariableDeclaration(walk, node: Of<"VariableDeclaration">) {
		for (const declarator of node.declarations) {
			if (walk.facts.done.has(declarator)) continue;
			const { id, init } = declarator;
			expectType(walk.facts, init, typeOfAnnotation(walk, annotationOf(id)));
			visitPattern(walk, id, { init: init ?? undefined });
			walk.visit(init);
		}
	},
	ReturnStatement(walk, node: Of<"ReturnStatement">) {
		expectType(walk.facts, node.argument, walk.result);
		walk.visit(node.argument);
	},

	...forTypes(
		"FunctionDeclaration FunctionExpression ArrowFunctionExpression TSDeclareFunction TSEmptyBodyFunctionExpression",
		functionLike,
	),
	...forTypes("ClassDeclaration ClassExpression", classLike),
	...forTypes("MethodDefinition PropertyDefinition AccessorProperty", classMember),
	...forTypes(
		"TSAbstractMethodDefinition TSAbstractPropertyDefinition TSAbstractAccessorProperty",
		classMember,
	),
	TSEnumDeclaration(walk, node: Of<"TSEnumDeclaration">) {
		const owner = typeOfOwner(walk, node.id.name, VALUE);
		const scope = new Scope(walk.scope);
		for (const { id } of node.body.members) {
			const key = keyOf(id, false);
			if (!key) continue;
			const { name } = key;
			if (owner) scope.names.set(name, { kind: "member", meaning: VALUE, owner, name });
			else scope.declare(key, VALUE);
		}
		walk.within(scope, () => {
			for (const one of node.body.members) walk.visit(one.initializer);
		});
	},
};

function block(
	walk: Walk,
	statements: readonly Node[],
	isFunction = false,
	visit = () => walk.visitAll(statements),
): void {
	// Most blocks declare nothing. Creating no scope for them saves most of the cost.
	if (!isFunction && statements.every(({ type }) => type.endsWith("Statement"))) {
		visit();
		return;
	}
	const scope = new Scope(walk.scope, { isFunction });
	declareStatements({ facts: walk.facts, scope }, statements);
	for (const [name, binding] of walk.facts.innerBindings.get(statements) ?? []) {
		scope.names.set(name, { kind: "binding", binding, meaning: VALUE | TYPE });
	}
	if (scope.names.size > 0) walk.within(scope, visit);
	else visit();
}

function loop(walk: Walk, node: Of<"ForOfStatement"> | Of<"ForInStatement">): void {
	walk.visit(node.right);
	const { left } = node;
	if (left.type !== "VariableDeclaration") {
		assign(walk, left);
		walk.visit(node.body);
		return;
	}
	const scope = new Scope(walk.scope);
	const id = left.declarations[0]?.id;
	const value: LocalValue =
		node.type === "ForOfStatement" ? { init: node.right, element: true } : {};
	if (left.kind !== "var" && id) scope.declarePattern(id, value);
	walk.within(scope, () => {
		if (id) visitPattern(walk, id, value);
		walk.visit(node.body);
	});
}

export function signature(
	walk: Walk,
	node: Of<"TSMethodSignature"> | Of<"TSFunctionType"> | Of<"TSConstructorType">,
): void {
	const scope = new Scope(walk.scope.withTypeParameters(node.typeParameters));
	for (const parameter of node.params) declareParameter(walk, scope, parameter);
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		for (const parameter of node.params) visitPattern(walk, parameter);
		walk.visit(node.returnType);
	});
}

function functionLike(walk: Walk, node: FunctionNode): void {
	const { facts } = walk;
	const isArrow = node.type === "ArrowFunctionExpression";
	const outer = walk.scope.withTypeParameters(node.typeParameters);
	const self = node.params.find((one) => isNamed(one, "this"));
	const selfType = self && annotationOf(self);
	const own = isArrow ? undefined : facts.selves.get(node);
	const scope = new Scope(outer, {
		isFunction: true,
		...(selfType
			? { self: typeOfAnnotation({ facts, scope: outer }, selfType) ?? null }
			: own
				? { self: own, base: null }
				: !isArrow && !facts.methods.has(node) && { self: null, base: null }),
		isOfExports: !isArrow && !selfType && facts.methodsOfExports.has(node),
	});
	if (node.type === "FunctionExpression" && node.id) declareOwnName(walk, scope, node);
	const first = facts.callbackArguments.get(node);
	const known = (index: number): LocalValue => (index === 0 && first ? { contextual: first } : {});
	node.params.forEach((parameter, index) => {
		declareParameter(walk, scope, parameter, known(index));
	});
	const outerResult = walk.result;
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		node.params.forEach((parameter, index) => {
			if (parameter.type === "AssignmentPattern") {
				const type = typeOfAnnotation(walk, annotationOf(parameter.left));
				expectType(facts, parameter.right, type);
			}
			visitPattern(walk, parameter, known(index));
		});
		walk.visit(node.returnType);
		walk.result = typeOfAnnotation(walk, node.returnType);
		if (isArrow) expectType(facts, node.body, walk.result);
		if (node.body?.type === "BlockStatement") block(walk, node.body.body, true);
		else walk.visit(node.body);
	});
	walk.result = outerResult;
}

/** Inside of `module.exports = function a() {}`, `a` is what is exported. */
function declareOwnName(
	{ facts }: Walk,
	scope: Scope,
	node: Of<"FunctionExpression"> | Of<"ClassExpression">,
): void {
	if (!node.id) return;
	const meaning = node.type === "ClassExpression" ? VALUE | TYPE : VALUE;
	const binding = facts.ownNames.get(node);
	if (binding === undefined) scope.declare(node.id, meaning);
	else scope.names.set(node.id.name, { kind: "binding", binding, meaning });
}

function declareParameter(walk: Walk, scope: Scope, parameter: Node, value: LocalValue = {}): void {
	const { self } = walk.scope;
	if (parameter.type !== "TSParameterProperty" || !self) {
		scope.declarePattern(parameter, value);
		return;
	}
	// Inside the constructor, the name of a parameter property refers to the member.
	eachName(parameter, value, ({ name }) => {
		scope.names.set(name, { kind: "member", meaning: VALUE, owner: self, name });
	});
}

function classLike(walk: Walk, node: ClassNode): void {
	const { facts } = walk;
	const hasOwnName = node.type === "ClassExpression" && node.id !== null;
	const outer = hasOwnName ? new Scope(walk.scope) : walk.scope;
	if (hasOwnName) declareOwnName(walk, outer, node);
	const own =
		facts.owners.get(node) ?? (node.id ? typeOfOwner(walk, node.id.name, VALUE) : undefined);
	walk.visitAll(node.decorators);
	const scope = outer.withTypeParameters(node.typeParameters);
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		walk.use(node.superClass, "extends");
		walk.visit(node.superTypeArguments);
		walk.visitAll(node.implements);
		const base = node.superClass ? typeOfExpression(walk, node.superClass) : undefined;
		const types = { self: instanceOf(own) ?? null, base: instanceOf(base) ?? null };
		const instance = new Scope(scope, types);
		const statics = new Scope(scope, { self: own ?? null, base: base ?? null });
		for (const one of node.body.body) {
			const isStatic = one.type === "StaticBlock" || ("static" in one && one.static);
			walk.within(isStatic ? statics : instance, () => walk.visit(one));
		}
	});
}

function classMember(walk: Walk, node: Of<"MethodDefinition"> | Of<"PropertyDefinition">): void {
	const annotation = annotationOf(node);
	walk.visitAll(node.decorators);
	if (node.computed) walk.visit(node.key);
	walk.visit(annotation);
	const { value } = node;
	if (!value) return;
	if (node.type !== "PropertyDefinition") walk.facts.methods.add(value);
	else expectType(walk.facts, value, typeOfAnnotation(walk, annotation));
	walk.visit(value);
}
