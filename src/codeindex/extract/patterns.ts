import { type Identifier, keyOf, type Node, type Of } from "./ast.ts";
import { destructure } from "./destructure.ts";
import type { LocalValue } from "./scope.ts";
import type { Walk } from "./walk.ts";

/** Calls back for every name of a pattern, with what tells its type. */
export function eachName(
	pattern: Node,
	value: LocalValue,
	take: (id: Identifier, value: LocalValue) => void,
): void {
	switch (pattern.type) {
		case "Identifier":
			take(pattern, annotated(pattern, value));
			return;
		case "AssignmentPattern":
			eachName(
				pattern.left,
				pattern.left.type === "Identifier" ? orElse(value, pattern.right) : value,
				take,
			);
			return;
		case "TSParameterProperty":
			eachName(pattern.parameter, value, take);
			return;
		case "RestElement":
			eachName(pattern.argument, {}, take);
			return;
		case "ArrayPattern":
			for (const element of pattern.elements) if (element) eachName(element, {}, take);
			return;
		case "ObjectPattern": {
			const whole = annotated(pattern, value);
			for (const property of pattern.properties) {
				if (property.type === "RestElement") eachName(property, {}, take);
				else {
					const key = keyOf(property.key, property.computed);
					const path = key && [...(whole.path ?? []), key.name];
					eachName(property.value, path ? { ...whole, path } : {}, take);
				}
			}
		}
	}
}

/** A default tells the type where nothing else does. */
function orElse(value: LocalValue, init: Node): LocalValue {
	return value.annotation || value.init || value.given || value.path ? value : { init };
}

function annotated(pattern: Of<"Identifier"> | Of<"ObjectPattern">, value: LocalValue): LocalValue {
	const annotation = "typeAnnotation" in pattern ? pattern.typeAnnotation : undefined;
	return annotation ? { annotation: annotation.typeAnnotation } : value;
}

/** Visits what a declared pattern uses: types, defaults, computed keys, and the properties it takes. */
export function visitPattern(walk: Walk, node: Node, value: LocalValue = {}): void {
	const whole = node.type === "AssignmentPattern" ? node.left : node;
	if (whole.type === "ObjectPattern") destructure(walk, whole, value);
	patternParts(walk, node);
}

function patternParts(walk: Walk, node: Node): void {
	switch (node.type) {
		case "Identifier":
			walk.visitAll(node.decorators);
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
			return;
		case "AssignmentPattern":
			walk.visitAll(node.decorators);
			patternParts(walk, node.left);
			walk.visit(node.right);
			return;
		case "RestElement":
			patternParts(walk, node.argument);
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
			return;
		case "TSParameterProperty":
			walk.visitAll(node.decorators);
			patternParts(walk, node.parameter);
			return;
		case "ArrayPattern":
			for (const element of node.elements) if (element) patternParts(walk, element);
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
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
			walk.visit("typeAnnotation" in node ? node.typeAnnotation : null);
	}
}
