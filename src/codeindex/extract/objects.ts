import type { TypeName } from "../facts.ts";
import { bare, isConst, keyOf, type Node, type Of } from "./ast.ts";
import { access, close, fromType } from "./chains.ts";
import type { Draft } from "./draft.ts";
import { member, typeOfAnnotation } from "./receivers.ts";
import { inside } from "./scope.ts";
import type { Walk } from "./walk.ts";

/**
 * Notes that an object literal must be of a type, so that its keys are uses of the type's members. Other expressions
 * are left alone.
 */
export function expect(
	draft: Draft,
	node: Node | null | undefined,
	type: TypeName | undefined,
): void {
	if (!type || !node) return;
	const value = node.type === "AwaitExpression" ? node : bare(node);
	if (value.type === "ObjectExpression") draft.expected.set(value, type);
	else if (value.type === "ConditionalExpression") {
		expect(draft, value.consequent, type);
		expect(draft, value.alternate, type);
	}
}

/** What a cast says of an object literal under it. */
export function expectCast(walk: Walk, expression: Node, type: Node): void {
	if (!isConst(type))
		expect(walk.draft, expression, typeOfAnnotation(walk.draft, walk.scope, type));
}

/** Visits an object literal. In its methods `this` is the object, if that has a name. */
export function visitObject(walk: Walk, node: Of<"ObjectExpression">): void {
	const { draft } = walk;
	const owner = draft.owners.get(node);
	const expected = draft.expected.get(node);
	if (!owner && !expected) {
		walk.visitAll(node.properties);
		return;
	}
	const self = owner ?? expected ?? null;
	for (const property of node.properties) {
		const key = property.type === "Property" && keyOf(property.key, property.computed);
		if (!key) {
			walk.visit(property);
			continue;
		}
		if (expected) close(draft, access(draft, fromType(expected), key), "write");
		const { value } = property;
		const inner = bare(value);
		if (inner.type === "ObjectExpression") {
			const part = member(self, key.name);
			if (part) (owner ? draft.owners : draft.expected).set(inner, part);
		}
		const isMethod = value.type === "FunctionExpression";
		if (isMethod) draft.methods.add(value);
		// Only methods have the object as `this`; elsewhere it is that of the code around.
		if (isMethod) walk.within(inside(walk.scope, { self }), () => walk.visit(property));
		else walk.visit(property);
	}
}
