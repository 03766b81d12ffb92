import type { Position } from "../facts.ts";
import { type Identifier, isFunction, type Node, type Of } from "./ast.ts";
import { type Draft, declareHidden, request } from "./draft.ts";
import { moduleName } from "./imports.ts";
import { ANY, lookup, type Scope } from "./scope.ts";

/** Notes what a statement of the top level exports. All names of the top level must be declared. */
export function exportStatement(draft: Draft, node: Node): void {
	switch (node.type) {
		case "ExportNamedDeclaration":
			if (node.declaration) exportNames(draft, namesOf(node.declaration));
			else if (node.source) exportFrom(draft, node);
			else exportList(draft, node);
			return;
		case "ExportAllDeclaration": {
			const typeOnly = node.exportKind === "type";
			const index = reExport(draft, node.source, typeOnly);
			if (!node.exported) draft.exports.push({ kind: "star", request: index, typeOnly });
			else {
				const { name, start } = moduleName(node.exported);
				const at = [draft.positions.at(start)];
				draft.exports.push({ kind: "from", name, request: index, imported: "*", at, typeOnly });
			}
			return;
		}
		case "ExportDefaultDeclaration":
			exportDefault(draft, node);
			return;
		case "TSExportAssignment":
			exportValue(draft, "=", node.expression, node);
	}
}

/** Exports an expression: a name as itself, anything else as something declared here. */
export function exportValue(
	draft: Draft,
	name: "default" | "=",
	value: Node,
	outer: Node,
	scope: Scope = draft.top,
): void {
	if (value.type === "Identifier") {
		const binding = topBinding(scope, value.name);
		if (binding !== undefined) {
			const at = [draft.positions.at(value.start)];
			draft.exports.push({ kind: "local", name, binding, at, typeOnly: false });
		}
		return;
	}
	const id = defaultName(draft, outer);
	const symbol = isFunction(value)
		? "function"
		: value.type === "ClassExpression"
			? "class"
			: "variable";
	const own = "id" in value && value.id?.type === "Identifier" ? value.id : undefined;
	const declaration = { symbol, id: own ?? id, node: value, from: outer.start } as const;
	const binding = declareHidden(draft, declaration);
	if (symbol === "class") draft.owners.set(value, { binding, side: "value" });
	draft.exports.push({ kind: "local", name, binding, typeOnly: false });
}

/** The binding of a name of the top level, as a scope sees it. */
export function topBinding(scope: Scope, name: string): number | undefined {
	const found = lookup(scope, name, ANY);
	return found?.kind === "binding" ? found.binding : undefined;
}

function exportNames(draft: Draft, names: readonly string[]): void {
	for (const name of names) {
		const binding = topBinding(draft.top, name);
		const isKnown = draft.exports.some((one) => one.kind === "local" && one.name === name);
		if (binding === undefined || isKnown) continue;
		draft.exports.push({ kind: "local", name, binding, typeOnly: false });
	}
}

/** The names that a declaration declares. */
function namesOf(node: Node): string[] {
	switch (node.type) {
		case "VariableDeclaration":
			return node.declarations.flatMap(({ id }) => namesOf(id));
		case "Identifier":
			return [node.name];
		case "ObjectPattern":
			return node.properties.flatMap((one) => namesOf(one.type === "Property" ? one.value : one));
		case "ArrayPattern":
			return node.elements.flatMap((one) => (one ? namesOf(one) : []));
		case "AssignmentPattern":
			return namesOf(node.left);
		case "RestElement":
			return namesOf(node.argument);
		case "TSModuleDeclaration":
			return node.id.type === "TSQualifiedName" ? namesOf(node.id) : namesOf(node.id);
		case "TSQualifiedName":
			return namesOf(node.left);
		default:
			return "id" in node && node.id ? namesOf(node.id as Node) : [];
	}
}

function exportFrom(draft: Draft, node: Of<"ExportNamedDeclaration">): void {
	if (!node.source) return;
	const allTypes =
		node.exportKind === "type" ||
		(node.specifiers.length > 0 && node.specifiers.every((one) => one.exportKind === "type"));
	const index = reExport(draft, node.source, allTypes);
	for (const specifier of node.specifiers) {
		const { name } = moduleName(specifier.exported);
		const { name: imported } = moduleName(specifier.local);
		const typeOnly = allTypes || specifier.exportKind === "type";
		const at = places(draft, specifier);
		draft.exports.push({ kind: "from", name, request: index, imported, at, typeOnly });
	}
}

function exportList(draft: Draft, node: Of<"ExportNamedDeclaration">): void {
	for (const specifier of node.specifiers) {
		const { name } = moduleName(specifier.exported);
		const binding = topBinding(draft.top, moduleName(specifier.local).name);
		if (binding === undefined) continue;
		const typeOnly = node.exportKind === "type" || specifier.exportKind === "type";
		const at = places(draft, specifier);
		draft.exports.push({ kind: "local", name, binding, at, typeOnly });
	}
}

function places(draft: Draft, { local, exported }: Of<"ExportSpecifier">): Position[] {
	const starts = [moduleName(local).start, moduleName(exported).start];
	return [...new Set(starts)].map((start) => draft.positions.at(start));
}

function reExport(draft: Draft, source: Of<"Literal">, typeOnly: boolean): number {
	const specifier = String(source.value);
	const index = request(draft, specifier, "re-export", source.start);
	return typeOnly ? request(draft, specifier, "type", source.start) : index;
}

function exportDefault(draft: Draft, node: Of<"ExportDefaultDeclaration">): void {
	const { declaration } = node;
	switch (declaration.type) {
		case "FunctionDeclaration":
		case "TSDeclareFunction":
		case "ClassDeclaration":
		case "TSInterfaceDeclaration": {
			const symbol =
				declaration.type === "ClassDeclaration"
					? "class"
					: declaration.type === "TSInterfaceDeclaration"
						? "interface"
						: "function";
			const named = declaration.id ? topBinding(draft.top, declaration.id.name) : undefined;
			const known = draft.exports.some((one) => one.kind === "local" && one.name === "default");
			if (known && named !== undefined) return;
			const id = defaultName(draft, node);
			const binding =
				named ?? declareHidden(draft, { symbol, id, node: declaration, from: node.start });
			draft.owners.set(declaration, { binding, side: "value" });
			draft.exports.push({ kind: "local", name: "default", binding, typeOnly: false });
			return;
		}
		default:
			exportValue(draft, "default", declaration, node);
	}
}

/** The word `default` of a statement, which stands for a name where there is none. */
function defaultName(draft: Draft, node: Node): Identifier {
	const start =
		node.type === "ExportDefaultDeclaration"
			? draft.source.indexOf("default", node.start)
			: node.start;
	return { name: "default", start, end: start + "default".length };
}
