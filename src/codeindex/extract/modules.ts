import { bare, type Node, type Of, textOf } from "./ast.ts";
import { type Draft, namelessImport, request } from "./draft.ts";
import { lookup, type Scope, VALUE } from "./scope.ts";

/** A module asked for in an expression. */
export interface ModuleCall {
	readonly request: number;
	/** `import()` gives the module's names, `require()` what it exports as a whole. */
	readonly imported: "*" | "=";
	/** Where the specifier stands. */
	readonly start: number;
}

/** `import("x")` or `require("x")` with a literal, awaited or not. Notes the request. */
export function moduleCall(draft: Draft, scope: Scope, expression: Node): ModuleCall | undefined {
	const node = bare(expression);
	if (node.type === "ImportExpression") {
		const specifier = textOf(node.source);
		if (specifier === undefined) return undefined;
		const { start } = node.source;
		return { request: request(draft, specifier, "dynamic", start), imported: "*", start };
	}
	const [argument, more] = isRequire(scope, node) ? node.arguments : [];
	const specifier = textOf(argument);
	if (!argument || more || specifier === undefined) return undefined;
	draft.commonJs = true;
	const { start } = argument;
	return { request: request(draft, specifier, "require", start), imported: "=", start };
}

/** The nameless binding that stands for the module in an expression. */
export function bindingOfModule(draft: Draft, call: ModuleCall): number {
	return namelessImport(draft, call.request, call.imported, call.start);
}

/** A `require` that the file declares is another function; one made by `createRequire` is never declared. */
function isRequire(scope: Scope, node: Node): node is Of<"CallExpression"> {
	return (
		node.type === "CallExpression" &&
		node.callee.type === "Identifier" &&
		node.callee.name === "require" &&
		!lookup(scope, "require", VALUE)
	);
}
