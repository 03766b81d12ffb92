import type { TypeName } from "../facts.ts";
import { annotationOf, keyOf, type Node, type Of } from "./ast.ts";
import { access, close, fromType } from "./chains.ts";
import { member, typeOfAnnotation, typeOfValue } from "./receivers.ts";
import type { LocalValue } from "./scope.ts";
import type { Walk } from "./walk.ts";

/** Visits what a declared pattern uses: types, defaults, computed keys, and the properties it takes. */
export function visitPattern(walk: Walk, node: Node, value: LocalValue = {}): void {
	const whole = node.type === "AssignmentPattern" ? node.left : node;
	if (whole.type === "ObjectPattern") destructure(walk, whole, value);
	patternParts(walk, node);
}

/** Notes the properties that `const { a, b: { c } } = value` takes from something known. */
export function destructure(walk: Walk, node: Of<"ObjectPattern">, value: LocalValue): void {
	const annotation = annotationOf(node);
	take(walk, node, annotation ? typeOfAnnotation(walk, annotation) : typeOfValue(walk, value));
}

function take(walk: Walk, node: Of<"ObjectPattern">, type: TypeName | undefined): void {
	const { draft } = walk;
	for (const property of node.properties) {
		if (property.type === "RestElement") continue;
		const key = keyOf(property.key, property.computed);
		if (!key) continue;
		close(draft, access(draft, fromType(type), key), "read");
		const { value } = property;
		const inner: Node = value.type === "AssignmentPattern" ? value.left : value;
		if (inner.type === "ObjectPattern") take(walk, inner, member(type, key.name));
	}
}

function patternParts(walk: Walk, node: Node): void {
	switch (node.type) {
		case "Identifier":
			walk.visitAll(node.decorators);
			walk.visit(annotationOf(node));
			return;
		case "AssignmentPattern":
			walk.visitAll(node.decorators);
			patternParts(walk, node.left);
			walk.visit(node.right);
			return;
		case "RestElement":
			patternParts(walk, node.argument);
			walk.visit(annotationOf(node));
			return;
		case "TSParameterProperty":
			walk.visitAll(node.decorators);
			patternParts(walk, node.parameter);
			return;
		case "ArrayPattern":
			for (const element of node.elements) if (element) patternParts(walk, element);
			walk.visit(annotationOf(node));
			return;
		case "ObjectPattern":
			walk.visitAll(node.decorators);
			for (const property of node.properties) {
				if (property.type === "RestElement") patternParts(walk, property);
				else {
					if (property.computed) walk.visit(property.key);
					patternParts(walk, property.value);
				}
			}
			walk.visit(annotationOf(node));
	}
}

/** Notes what is written to. Patterns are taken apart; their defaults and computed keys are read. */
export function assign(walk: Walk, target: Node): void {
	switch (target.type) {
		case "ObjectPattern":
			for (const property of target.properties) {
				if (property.type === "RestElement") assign(walk, property.argument);
				else {
					if (property.computed) walk.visit(property.key);
					assign(walk, property.value);
				}
			}
			return;
		case "ArrayPattern":
			for (const element of target.elements) if (element) assign(walk, element);
			return;
		case "AssignmentPattern":
			assign(walk, target.left);
			walk.visit(target.right);
			return;
		case "RestElement":
			assign(walk, target.argument);
			return;
		default:
			walk.use(target, "write");
	}
}
