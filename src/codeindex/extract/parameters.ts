import type { Parameter } from "../facts.ts";
import { annotationOf, type Node, type Of } from "./ast.ts";
import type { Place } from "./facts-builder.ts";
import { typeOfAnnotation } from "./receivers.ts";
import type { Scope } from "./scope.ts";

/**
 * Parameters of a function, or of a class's constructor, whose declared types are names. Undefined if there are none. A
 * constructor without any has an empty list, since it hides that of its parent.
 */
export function parametersOf(
	{ facts, scope }: Place,
	node: Node,
): readonly Parameter[] | undefined {
	if (node.type === "ClassDeclaration" || node.type === "ClassExpression") {
		const made = node.body.body.filter((one) => {
			return one.type === "MethodDefinition" && one.kind === "constructor";
		});
		const [only, overload] = made;
		if (only?.type !== "MethodDefinition") return undefined;
		return overload ? [] : typed(facts, withGenerics(scope, node), only.value.params);
	}
	if (node.type === "TSTypeAliasDeclaration") {
		const { typeAnnotation: type } = node;
		if (type.type !== "TSFunctionType") return undefined;
		return parametersOf({ facts, scope: withGenerics(scope, node) }, type);
	}
	if (!("params" in node) || !Array.isArray(node.params)) return undefined;
	const found = typed(facts, withGenerics(scope, node), node.params as Node[]);
	return found.length > 0 ? found : undefined;
}

function typed(facts: Place["facts"], scope: Scope, parameters: readonly Node[]): Parameter[] {
	return parameters.flatMap((parameter, index) => {
		const type = typeOfAnnotation({ facts, scope }, annotationOf(parameterName(parameter)));
		return type && parameter.type !== "RestElement" ? [{ index, type }] : [];
	});
}

/** What is declared by `name`, `name = value` or `readonly name`. */
export function parameterName(parameter: Node): Node {
	const plain = parameter.type === "TSParameterProperty" ? parameter.parameter : parameter;
	return plain.type === "AssignmentPattern" ? plain.left : plain;
}

function withGenerics(scope: Scope, node: Node): Scope {
	return scope.withTypeParameters((node as Of<"FunctionDeclaration">).typeParameters);
}
