import { bare, type Identifier, keyOf, type Node, type Of } from "./ast.ts";
import { addImport, type Draft, request } from "./draft.ts";
import { type ModuleCall, moduleCall } from "./modules.ts";
import { lookup, type Scope, SPACE } from "./scope.ts";

/** Declares what an `import` statement brings in. */
export function declareImports(draft: Draft, scope: Scope, node: Of<"ImportDeclaration">): void {
	const { specifiers, source } = node;
	const allTypes =
		node.importKind === "type" ||
		(specifiers.length > 0 &&
			specifiers.every((one) => one.type === "ImportSpecifier" && one.importKind === "type"));
	const kind = allTypes ? "type" : specifiers.length === 0 ? "side-effect" : "value";
	const index = request(draft, source.value, kind, source.start);
	for (const specifier of specifiers) {
		const { name, start: at } = specifier.local;
		const common = { name, request: index, at, scope, typeOnly: allTypes };
		if (specifier.type === "ImportDefaultSpecifier") {
			addImport(draft, { ...common, imported: "default" });
		} else if (specifier.type === "ImportNamespaceSpecifier") {
			addImport(draft, { ...common, imported: "*" });
		} else {
			const key = moduleName(specifier.imported);
			const apart = key.start !== at && { importedAt: draft.positions.at(key.start) };
			const typeOnly = allTypes || specifier.importKind === "type";
			addImport(draft, { ...common, imported: key.name, typeOnly, ...apart });
		}
	}
}

/** A name in an import or export list, which may be a string. */
export function moduleName(node: Node): { readonly name: string; readonly start: number } {
	return keyOf(node, false) ?? { name: "", start: node.start };
}

/**
 * Makes an import of `import a = require("x")`, and of `import A = ns.A` if `ns` is one. False: it is close to a constant.
 */
export function importsEquals(
	draft: Draft,
	scope: Scope,
	node: Of<"TSImportEqualsDeclaration">,
): boolean {
	const { id, moduleReference: target } = node;
	const typeOnly = node.importKind === "type";
	const own = { name: id.name, at: id.start, typeOnly, scope };
	if (target.type === "TSExternalModuleReference") {
		const kind = typeOnly ? "type" : "require";
		const index = request(draft, target.expression.value, kind, target.expression.start);
		addImport(draft, { ...own, request: index, imported: "=" });
		draft.done.add(node);
		return true;
	}
	if (target.type !== "TSQualifiedName" || target.left.type !== "Identifier") return false;
	const name = lookup(scope, target.left.name, SPACE);
	const space = name?.kind === "binding" ? draft.bindings[name.binding] : undefined;
	if (space?.kind !== "imported" || space.imported !== "*") return false;
	const importedAt = draft.positions.at(target.right.start);
	const imported = target.right.name;
	addImport(draft, { ...own, request: space.request, imported, importedAt });
	return true;
}

/** Makes imports of `const a = require("x")` and its like. False: it is a variable like any other. */
export function importsModule(draft: Draft, scope: Scope, node: Of<"VariableDeclarator">): boolean {
	const { id, init } = node;
	if (!init || id.type === "ArrayPattern") return false;
	const value = bare(init);
	if (value.type === "MemberExpression" && !value.computed && id.type === "Identifier") {
		const call = moduleCall(draft, scope, value.object);
		const { property } = value;
		if (call?.imported !== "=" || property.type !== "Identifier") return false;
		const apart = property.name !== id.name && { importedAt: draft.positions.at(property.start) };
		importAs(draft, scope, call, id, property.name, apart || {});
		draft.done.add(node);
		return true;
	}
	const call = moduleCall(draft, scope, value);
	if (!call) return false;
	if (id.type === "Identifier") {
		// Without `await` it is a promise, which only `then` leads out of.
		if (value.type === "ImportExpression" && !isAwaited(init)) return false;
		importAs(draft, scope, call, id, call.imported);
		draft.done.add(node);
		return true;
	}
	// TypeScript takes destructured `require` for imports, and destructured `import()` for variables.
	if (id.type !== "ObjectPattern" || call.imported === "*" || !isFlat(id)) return false;
	for (const property of id.properties) {
		if (property.type === "RestElement" || property.value.type !== "Identifier") continue;
		const key = keyOf(property.key, property.computed);
		const apart = !property.shorthand && { importedAt: draft.positions.at(key?.start ?? 0) };
		importAs(draft, scope, call, property.value, key?.name ?? "", apart || {});
	}
	draft.done.add(node);
	return true;
}

function isAwaited(init: Node): boolean {
	if (init.type === "AwaitExpression") return true;
	return (
		"expression" in init &&
		typeof init.expression === "object" &&
		isAwaited(init.expression as Node)
	);
}

function isFlat(pattern: Of<"ObjectPattern">): boolean {
	return pattern.properties.every(
		(property) =>
			property.type === "Property" &&
			property.value.type === "Identifier" &&
			keyOf(property.key, property.computed) !== undefined,
	);
}

function importAs(
	draft: Draft,
	scope: Scope,
	call: ModuleCall,
	id: Identifier,
	imported: string,
	apart: { importedAt?: readonly [number, number] } = {},
): void {
	const { name, start: at } = id;
	addImport(draft, { name, request: call.request, imported, typeOnly: false, at, scope, ...apart });
}
