import type { EcmaScriptModule } from "oxc-parser";
import { isNamed, type Key, keyOf, moduleName, type Node, type Of, textOf, unwrap } from "./ast.ts";
import type { FactsBuilder, Place } from "./facts-builder.ts";
import { NAMESPACE, VALUE } from "./scope.ts";

export function declareImports({ facts, scope }: Place, node: Of<"ImportDeclaration">): void {
	const { specifiers, source } = node;
	const allTypes =
		node.importKind === "type" ||
		(specifiers.length > 0 &&
			specifiers.every((one) => one.type === "ImportSpecifier" && one.importKind === "type"));
	const kind = allTypes ? "type" : specifiers.length === 0 ? "side-effect" : "value";
	const index = facts.request(source.value, kind, source.start);
	for (const specifier of specifiers) {
		const { name, start: at } = specifier.local;
		const common = { name, request: index, at, scope, typeOnly: allTypes };
		if (specifier.type === "ImportSpecifier") {
			const { name: imported, start: importedAt } = moduleName(specifier.imported);
			const typeOnly = allTypes || specifier.importKind === "type";
			facts.addImport({ ...common, imported, importedAt, typeOnly });
		} else {
			const imported = specifier.type === "ImportDefaultSpecifier" ? "default" : "*";
			facts.addImport({ ...common, imported });
		}
	}
}

/** Declares `import a = require("x")` and, if `ns` is imported, `import A = ns.A`. Otherwise false. */
export function importsEquals(
	{ facts, scope }: Place,
	node: Of<"TSImportEqualsDeclaration">,
): boolean {
	const { id, moduleReference: target } = node;
	const typeOnly = node.importKind === "type";
	const own = { name: id.name, at: id.start, typeOnly, scope };
	if (target.type === "TSExternalModuleReference") {
		const kind = typeOnly ? "type" : "require";
		const index = facts.request(target.expression.value, kind, target.expression.start);
		facts.addImport({ ...own, request: index, imported: "=" });
		facts.done.add(node);
		return true;
	}
	if (target.type !== "TSQualifiedName" || target.left.type !== "Identifier") return false;
	const name = scope.lookup(target.left.name, NAMESPACE);
	const namespace = name?.kind === "binding" ? facts.bindings[name.binding] : undefined;
	if (namespace?.kind !== "imported" || namespace.imported !== "*") return false;
	const { name: imported, start: importedAt } = target.right;
	facts.addImport({ ...own, request: namespace.request, imported, importedAt });
	return true;
}

/** Declares `const a = require("x")` and similar as imports. Returns false for an ordinary variable. */
export function importsModule(place: Place, node: Of<"VariableDeclarator">): boolean {
	const { id, init } = node;
	if (!init || id.type === "ArrayPattern") return false;
	const value = unwrap(init);
	if (value.type === "MemberExpression" && !value.computed && id.type === "Identifier") {
		const call = moduleCall(place, value.object);
		const { property } = value;
		if (call?.imported !== "=" || property.type !== "Identifier") return false;
		importAs(place, call, id, property.name, property.start);
	} else {
		const call = moduleCall(place, value);
		if (!call) return false;
		if (id.type === "Identifier") {
			if (value.type === "ImportExpression" && !isAwaited(init)) return false;
			importAs(place, call, id, call.imported);
		} else {
			// In TypeScript, names destructured from `require()` are imports, those from `import()` are variables.
			const names = id.type === "ObjectPattern" && call.imported === "=" && flatNames(id);
			if (!names) return false;
			for (const [key, local] of names) importAs(place, call, local, key.name, key.start);
		}
	}
	place.facts.done.add(node);
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

/** Undefined if a property is not bound to a plain name. */
function flatNames({ properties }: Of<"ObjectPattern">): [Key, Key][] | undefined {
	const names = properties.flatMap((property): [Key, Key][] => {
		const key = property.type === "Property" && keyOf(property.key, property.computed);
		return key && property.value.type === "Identifier" ? [[key, property.value]] : [];
	});
	return names.length === properties.length ? names : undefined;
}

function importAs(
	{ facts, scope }: Place,
	{ request }: ModuleCall,
	{ name, start: at }: Key,
	imported: string,
	importedAt?: number,
): void {
	facts.addImport({ name, request, imported, importedAt, typeOnly: false, at, scope });
}

interface ModuleCall {
	readonly request: number;
	/** `*` for `import()`, `=` for `require()`. */
	readonly imported: "*" | "=";
	readonly start: number;
}

/** Adds the request of a literal `import("x")` or `require("x")`, awaited or not. */
export function moduleCall({ facts, scope }: Place, expression: Node): ModuleCall | undefined {
	const node = unwrap(expression);
	if (node.type === "ImportExpression") {
		const specifier = textOf(node.source);
		if (specifier === undefined) return undefined;
		const { start } = node.source;
		return { request: facts.request(specifier, "dynamic", start), imported: "*", start };
	}
	// A declared `require` is another function. The result of `createRequire` is never declared.
	const isRequire =
		node.type === "CallExpression" &&
		isNamed(node.callee, "require") &&
		!scope.lookup("require", VALUE);
	const [argument, more] = isRequire ? node.arguments : [];
	const specifier = textOf(argument);
	if (!argument || more || specifier === undefined) return undefined;
	facts.commonJs = true;
	const { start } = argument;
	return { request: facts.request(specifier, "require", start), imported: "=", start };
}

/** Adds the imports and re-exports before a parse error. Declarations stay unknown. */
export function recoverModule(facts: FactsBuilder, module: EcmaScriptModule): void {
	for (const { moduleRequest, entries } of module.staticImports) {
		const allTypes = entries.length > 0 && entries.every(({ isType }) => isType);
		const kind = entries.length === 0 ? "side-effect" : allTypes ? "type" : "value";
		const index = facts.request(moduleRequest.value, kind, moduleRequest.start);
		for (const { importName, localName, isType: typeOnly } of entries) {
			const special = { NamespaceObject: "*", Default: "default", Name: undefined };
			const imported = special[importName.kind] ?? importName.name ?? "";
			const { value: name, start: at } = localName;
			const importedAt = importName.start ?? at;
			const { top: scope } = facts;
			facts.addImport({ name, request: index, imported, importedAt, typeOnly, at, scope });
		}
	}
	for (const entry of module.staticExports.flatMap(({ entries }) => entries)) {
		const { moduleRequest, importName, exportName, isType: typeOnly } = entry;
		if (!moduleRequest) continue;
		const index = facts.request(moduleRequest.value, "re-export", moduleRequest.start);
		if (exportName.kind === "None") {
			facts.exports.push({ kind: "star", request: index, typeOnly });
			continue;
		}
		const name = exportName.kind === "Default" ? "default" : (exportName.name ?? "");
		const imported = importName.kind === "All" ? "*" : (importName.name ?? "default");
		const starts = new Set([importName.start, exportName.start]);
		const at = [...starts].flatMap((one) => (one === null ? [] : [facts.positions.at(one)]));
		facts.exports.push({ kind: "from", name, request: index, imported, at, typeOnly });
	}
	for (const { moduleRequest } of module.dynamicImports) {
		const text = facts.source.slice(moduleRequest.start, moduleRequest.end);
		const literal = /^(["'`])([^"'`$\\]*)\1$/.exec(text)?.[2];
		if (literal !== undefined) facts.request(literal, "dynamic", moduleRequest.start);
	}
}
