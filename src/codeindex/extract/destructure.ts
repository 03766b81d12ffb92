import type { TypeName } from "../facts.ts";
import type { Of } from "./ast.ts";
import { keyOf, type Node } from "./ast.ts";
import { access, close, fromType } from "./chains.ts";
import { member, typeOfAnnotation, typeOfValue } from "./receivers.ts";
import type { LocalValue } from "./scope.ts";
import type { Walk } from "./walk.ts";

/** Notes the properties that `const { a, b: { c } } = value` takes from something known. */
export function destructure(walk: Walk, node: Of<"ObjectPattern">, value: LocalValue): void {
	const { draft, scope } = walk;
	const annotation = "typeAnnotation" in node ? node.typeAnnotation : undefined;
	const type = annotation
		? typeOfAnnotation(draft, scope, annotation)
		: typeOfValue(draft, scope, value);
	take(walk, node, type);
}

function take(walk: Walk, node: Of<"ObjectPattern">, type: TypeName | undefined): void {
	const { draft } = walk;
	for (const property of node.properties) {
		if (property.type === "RestElement") continue;
		const key = keyOf(property.key, property.computed);
		if (!key) continue;
		close(draft, access(draft, fromType(type), key), "read");
		const inner: Node =
			property.value.type === "AssignmentPattern" ? property.value.left : property.value;
		if (inner.type === "ObjectPattern") take(walk, inner, member(type, key.name));
	}
}
