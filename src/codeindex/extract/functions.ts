import type { FunctionNode, Node, Of } from "./ast.ts";
import { block } from "./blocks.ts";
import { expect } from "./objects.ts";
import { eachName, visitPattern } from "./patterns.ts";
import { typeOfAnnotation } from "./receivers.ts";
import {
	declareLocal,
	declareTypeParameters,
	inside,
	type LocalValue,
	type Scope,
	VALUE,
} from "./scope.ts";
import type { Visits, Walk } from "./walk.ts";

/** Functions of all kinds: their parameters are names that only they know. */
export const functionVisits: Visits = {
	FunctionDeclaration: functionLike,
	FunctionExpression: functionLike,
	ArrowFunctionExpression: functionLike,
	TSDeclareFunction: functionLike,
	TSEmptyBodyFunctionExpression: functionLike,
};

/** Visits a signature without a body. */
export function signature(
	walk: Walk,
	node: Of<"TSMethodSignature"> | Of<"TSFunctionType"> | Of<"TSConstructorType">,
): void {
	const scope = inside(declareTypeParameters(walk.scope, node.typeParameters));
	for (const parameter of node.params) declareParameter(walk, scope, parameter);
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		for (const parameter of node.params) visitPattern(walk, parameter);
		walk.visit(node.returnType);
	});
}

function functionLike(walk: Walk, node: FunctionNode): void {
	const { draft } = walk;
	const isArrow = node.type === "ArrowFunctionExpression";
	const outer = declareTypeParameters(walk.scope, node.typeParameters);
	const annotated = node.params.find((one) => one.type === "Identifier" && one.name === "this");
	const self = annotated && "typeAnnotation" in annotated ? annotated.typeAnnotation : undefined;
	const scope = inside(outer, {
		isFunction: true,
		...(self
			? { self: typeOfAnnotation(draft, outer, self) ?? null }
			: !isArrow && !draft.methods.has(node) && { self: null, base: null }),
	});
	if (node.type === "FunctionExpression" && node.id) declareLocal(scope, node.id, VALUE);
	const first = draft.given.get(node);
	const outerResult = walk.result;
	const known = (index: number): LocalValue => (index === 0 && first ? { given: first } : {});
	node.params.forEach((parameter, index) => {
		declareParameter(walk, scope, parameter, known(index));
	});
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		node.params.forEach((parameter, index) => {
			visitPattern(walk, parameter, known(index));
		});
		walk.visit(node.returnType);
		walk.result = node.returnType ? typeOfAnnotation(draft, scope, node.returnType) : undefined;
		if (isArrow) expect(draft, node.body, walk.result);
		if (node.body?.type === "BlockStatement") block(walk, node.body.body, true);
		else walk.visit(node.body);
	});
	walk.result = outerResult;
}

function declareParameter(walk: Walk, scope: Scope, parameter: Node, value: LocalValue = {}): void {
	const { self } = walk.scope;
	if (parameter.type === "TSParameterProperty" && self) {
		// Inside the constructor the name is the property's as well.
		eachName(parameter, value, ({ name }) => {
			scope.names.set(name, { kind: "member", meaning: VALUE, owner: self, name });
		});
		return;
	}
	eachName(parameter, value, (id, local) => declareLocal(scope, id, VALUE, local));
}
