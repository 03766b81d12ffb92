import type { Position } from "../facts.ts";
import { dotted, type Identifier, moduleName, type Node, type Of, symbolOfValue } from "./ast.ts";
import { SYMBOLS } from "./declare.ts";
import { type Draft, declareHidden, request } from "./draft.ts";
import { bindingOf, eachName, type Scope } from "./scope.ts";

/** Requires all top-level names to be declared. */
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

export function exportValue(
	draft: Draft,
	name: "default" | "=",
	value: Node,
	outer: Node,
	scope: Scope = draft.top,
): void {
	if (value.type === "Identifier") {
		const binding = bindingOf(scope, value.name);
		if (binding !== undefined) {
			const at = [draft.positions.at(value.start)];
			draft.exports.push({ kind: "local", name, binding, at, typeOnly: false });
		}
		return;
	}
	const id = defaultName(draft, outer);
	const symbol = symbolOfValue(value);
	const own = "id" in value && value.id?.type === "Identifier" ? value.id : undefined;
	const declaration = { symbol, id: own ?? id, node: value, from: outer.start } as const;
	const binding = declareHidden(draft, declaration);
	if (symbol === "class") draft.owners.set(value, { binding, side: "value" });
	draft.exports.push({ kind: "local", name, binding, typeOnly: false });
}

function exportNames(draft: Draft, names: readonly string[]): void {
	for (const name of names) {
		const binding = bindingOf(draft.top, name);
		const isKnown = draft.exports.some((one) => one.kind === "local" && one.name === name);
		if (binding === undefined || isKnown) continue;
		draft.exports.push({ kind: "local", name, binding, typeOnly: false });
	}
}

function namesOf(node: Node): string[] {
	const names: string[] = [];
	const [first] = "id" in node ? dotted(node.id as Node | null) : [];
	if (first) names.push(first.name);
	for (const { id } of node.type === "VariableDeclaration" ? node.declarations : []) {
		eachName(id, {}, ({ name }) => names.push(name));
	}
	return names;
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
		const binding = bindingOf(draft.top, moduleName(specifier.local).name);
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
			const symbol = SYMBOLS[declaration.type] ?? "function";
			const named = declaration.id ? bindingOf(draft.top, declaration.id.name) : undefined;
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

function defaultName(draft: Draft, node: Node): Identifier {
	const start =
		node.type === "ExportDefaultDeclaration"
			? draft.source.indexOf("default", node.start)
			: node.start;
	return { name: "default", start, end: start + "default".length };
}
