import type { TypeName } from "../facts.ts";
import { annotationOf, keyOf, type Node, type Of } from "./ast.ts";
import { access, close, fromType } from "./chains.ts";
import { member, typeOfAnnotation, typeOfValue } from "./receivers.ts";
import type { LocalValue } from "./scope.ts";
import type { Walk } from "./walk.ts";

export function visitPattern(walk: Walk, node: Node, value: LocalValue = {}): void {
	const whole = node.type === "AssignmentPattern" ? node.left : node;
	if (whole.type === "ObjectPattern") destructure(walk, whole, value);
	patternParts(walk, node, declared);
}

/** Records the properties that `const { a, b: { c } } = value` reads. */
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

export function assign(walk: Walk, target: Node): void {
	patternParts(walk, target, written);
}

function written(walk: Walk, target: Node): void {
	walk.use(target, "write");
}

function declared(walk: Walk, id: Node): void {
	if (id.type === "Identifier") walk.visitAll(id.decorators);
	walk.visit(annotationOf(id));
}

function patternParts(walk: Walk, node: Node, leaf: (walk: Walk, node: Node) => void): void {
	switch (node.type) {
		case "AssignmentPattern":
			walk.visitAll(node.decorators);
			patternParts(walk, node.left, leaf);
			walk.visit(node.right);
			return;
		case "RestElement":
			patternParts(walk, node.argument, leaf);
			walk.visit(annotationOf(node));
			return;
		case "TSParameterProperty":
			walk.visitAll(node.decorators);
			patternParts(walk, node.parameter, leaf);
			return;
		case "ArrayPattern":
			for (const element of node.elements) if (element) patternParts(walk, element, leaf);
			walk.visit(annotationOf(node));
			return;
		case "ObjectPattern":
			walk.visitAll(node.decorators);
			for (const property of node.properties) {
				if (property.type === "Property" && property.computed) walk.visit(property.key);
				patternParts(walk, property.type === "Property" ? property.value : property, leaf);
			}
			walk.visit(annotationOf(node));
			return;
		default:
			leaf(walk, node);
	}
}
