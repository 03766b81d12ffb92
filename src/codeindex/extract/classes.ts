import { type ClassNode, keyOf, type Of } from "./ast.ts";
import { expect } from "./objects.ts";
import { given, typeOfAnnotation, typeOfExpression } from "./receivers.ts";
import { declareLocal, declareTypeParameters, inside, TYPE, VALUE } from "./scope.ts";
import { ownType } from "./spaces.ts";
import type { Visits, Walk } from "./walk.ts";

/** Classes and enums: inside them `this`, or the bare name of a member, is something of their own. */
export const classVisits: Visits = {
	ClassDeclaration: classLike,
	ClassExpression: classLike,
	MethodDefinition: classMember,
	TSAbstractMethodDefinition: classMember,
	PropertyDefinition: classMember,
	TSAbstractPropertyDefinition: classMember,
	AccessorProperty: classMember,
	TSAbstractAccessorProperty: classMember,
	TSEnumDeclaration(walk, node: Of<"TSEnumDeclaration">) {
		const owner = ownType(walk.scope, node.id.name, VALUE);
		const scope = inside(walk.scope);
		for (const { id } of node.body.members) {
			const key = keyOf(id, false);
			if (!key) continue;
			const { name } = key;
			if (owner) scope.names.set(name, { kind: "member", meaning: VALUE, owner, name });
			else declareLocal(scope, { ...key, end: key.start }, VALUE);
		}
		walk.within(scope, () => {
			for (const one of node.body.members) walk.visit(one.initializer);
		});
	},
};

function classLike(walk: Walk, node: ClassNode): void {
	const { draft } = walk;
	const isExpression = node.type === "ClassExpression";
	const outer = isExpression && node.id ? inside(walk.scope) : walk.scope;
	if (isExpression && node.id) declareLocal(outer, node.id, VALUE | TYPE);
	const own =
		draft.owners.get(node) ?? (node.id ? ownType(walk.scope, node.id.name, VALUE) : undefined);
	walk.visitAll(node.decorators);
	const scope = declareTypeParameters(outer, node.typeParameters);
	walk.within(scope, () => {
		walk.visit(node.typeParameters);
		walk.use(node.superClass, "extends");
		walk.visit(node.superTypeArguments);
		walk.visitAll(node.implements);
		const base = node.superClass ? typeOfExpression(draft, scope, node.superClass) : undefined;
		const instance = inside(scope, { self: given(own) ?? null, base: given(base) ?? null });
		const statics = inside(scope, { self: own ?? null, base: base ?? null });
		for (const one of node.body.body) {
			const isStatic = one.type === "StaticBlock" || ("static" in one && one.static);
			walk.within(isStatic ? statics : instance, () => walk.visit(one));
		}
	});
}

function classMember(walk: Walk, node: Of<"MethodDefinition"> | Of<"PropertyDefinition">): void {
	walk.visitAll(node.decorators);
	if (node.computed) walk.visit(node.key);
	if (node.type === "PropertyDefinition" || "typeAnnotation" in node) {
		walk.visit((node as Of<"PropertyDefinition">).typeAnnotation);
	}
	const { value } = node;
	if (!value) return;
	if (node.type === "PropertyDefinition" && node.typeAnnotation) {
		expect(walk.draft, value, typeOfAnnotation(walk.draft, walk.scope, node.typeAnnotation));
	}
	if (value.type === "FunctionExpression" || value.type === "TSEmptyBodyFunctionExpression") {
		if (node.type !== "PropertyDefinition") walk.draft.methods.add(value);
	}
	walk.visit(value);
}
