import {
	declaredName,
	isFunction,
	isNamed,
	type Key,
	keyOf,
	memberKey,
	moduleName,
	type Node,
	nodesIn,
	type Of,
	symbolOfValue,
	unwrap,
} from "./ast.ts";
import { type Declaration, type FactsBuilder, type Place, SYMBOLS } from "./facts-builder.ts";
import { moduleCall } from "./imports.ts";
import { calledAtOnce, exportedFromInside, factoryResult, innerScope } from "./inner-exports.ts";
import { eachName, Scope, VALUE } from "./scope.ts";

/** All top-level names must already be declared. */
export function exportStatement(facts: FactsBuilder, node: Node): void {
	switch (node.type) {
		case "ExportNamedDeclaration":
			if (node.declaration) exportDeclared(facts, node.declaration);
			else exportList(facts, node);
			return;
		case "ExportAllDeclaration": {
			const typeOnly = node.exportKind === "type";
			const index = reExport(facts, node.source, typeOnly);
			if (!node.exported) facts.exports.push({ kind: "star", request: index, typeOnly });
			else {
				const { name, start } = moduleName(node.exported);
				const at = [facts.positions.at(start)];
				facts.exports.push({ kind: "from", name, request: index, imported: "*", at, typeOnly });
			}
			return;
		}
		case "ExportDefaultDeclaration":
			exportDefault(facts, node);
			return;
		case "TSExportAssignment":
			exportValue(facts, "=", node.expression, node);
	}
}

/** True if the value is a name of this file. The export then also records the name's use. */
function exportValue(
	facts: FactsBuilder,
	name: "default" | "=",
	value: Node,
	outer: Node,
	scope: Scope = facts.top,
): boolean {
	if (value.type === "Identifier") return exportBinding(facts, name, value, scope);
	const symbol = symbolOfValue(value);
	const own = "id" in value && value.id?.type === "Identifier" ? value.id : undefined;
	const id = own ?? defaultName(facts, outer);
	exportHidden(facts, name, { symbol, id, node: value, from: outer.start });
	return false;
}

function exportBinding(facts: FactsBuilder, name: string, id: Key, scope: Scope): boolean {
	const binding = scope.bindingOf(id.name) ?? exportedFromInside(facts, scope, id.name);
	if (binding === undefined) return false;
	const at = [facts.positions.at(id.start)];
	facts.exports.push({ kind: "local", name, binding, at, typeOnly: false });
	return true;
}

function exportHidden(facts: FactsBuilder, name: string, declaration: Declaration): number {
	const binding = facts.declareHidden(declaration);
	const { symbol, node, id } = declaration;
	if (symbol === "class") facts.owners.set(node, { binding, side: "value" });
	if ("id" in node && node.id === id) facts.ownNames.set(node, binding);
	facts.exports.push({ kind: "local", name, binding, typeOnly: false });
	return binding;
}

function exportDeclared(facts: FactsBuilder, node: Node): void {
	const keys = [declaredName(node)];
	for (const { id } of node.type === "VariableDeclaration" ? node.declarations : []) {
		eachName(id, {}, (key) => keys.push(key));
	}
	for (const { name } of keys.filter((key) => key !== undefined)) {
		const binding = facts.top.bindingOf(name);
		const isKnown = facts.exports.some((one) => one.kind === "local" && one.name === name);
		if (binding === undefined || isKnown) continue;
		facts.exports.push({ kind: "local", name, binding, typeOnly: false });
	}
}

function exportList(facts: FactsBuilder, node: Of<"ExportNamedDeclaration">): void {
	const { source, specifiers } = node;
	const isType = node.exportKind === "type";
	const allTypes =
		isType || (specifiers.length > 0 && specifiers.every((one) => one.exportKind === "type"));
	const index = source && reExport(facts, source, allTypes);
	for (const specifier of specifiers) {
		const { name, start: exportedAt } = moduleName(specifier.exported);
		const { name: imported, start: localAt } = moduleName(specifier.local);
		const typeOnly = isType || specifier.exportKind === "type";
		const at = [...new Set([localAt, exportedAt])].map((start) => facts.positions.at(start));
		if (index !== null) {
			facts.exports.push({ kind: "from", name, request: index, imported, at, typeOnly });
			continue;
		}
		const binding = facts.top.bindingOf(imported);
		if (binding !== undefined) facts.exports.push({ kind: "local", name, binding, at, typeOnly });
	}
}

function reExport(facts: FactsBuilder, source: Of<"Literal">, typeOnly: boolean): number {
	const specifier = String(source.value);
	const index = facts.request(specifier, "re-export", source.start);
	return typeOnly ? facts.request(specifier, "type", source.start) : index;
}

function exportDefault(facts: FactsBuilder, node: Of<"ExportDefaultDeclaration">): void {
	const { declaration } = node;
	const symbol = SYMBOLS[declaration.type];
	if (!symbol) {
		exportValue(facts, "default", declaration, node);
		return;
	}
	const own = declaredName(declaration);
	const named = own && facts.top.bindingOf(own.name);
	const known = facts.exports.some((one) => one.kind === "local" && one.name === "default");
	if (known && named !== undefined) return;
	const id = defaultName(facts, node);
	const binding = named ?? facts.declareHidden({ symbol, id, node: declaration, from: node.start });
	facts.owners.set(declaration, { binding, side: "value" });
	facts.exports.push({ kind: "local", name: "default", binding, typeOnly: false });
}

function defaultName(facts: FactsBuilder, node: Node): Key {
	const isDefault = node.type === "ExportDefaultDeclaration";
	const start = isDefault ? facts.source.indexOf("default", node.start) : node.start;
	return { name: "default", start };
}

/** Records CommonJS exports, including conditional ones and those of functions that run at once. */
export function exportCommonJs(place: Place, node: Node): void {
	switch (node.type) {
		case "VariableDeclaration":
			for (const { id, init } of node.declarations) {
				if (init?.type === "AssignmentExpression") exportAssigned(place, init, id);
			}
			return;
		case "BlockStatement": {
			const scope = new Scope(place.scope);
			for (const one of node.body) declareNames(scope, one);
			for (const one of node.body) exportCommonJs({ facts: place.facts, scope }, one);
			return;
		}
		case "CallExpression": {
			const atOnce = calledAtOnce(node);
			if (!atOnce) {
				exportCall(place, node);
				return;
			}
			const { facts, scope: outer } = place;
			const { scope, statements } = innerScope(facts, outer, atOnce.inner, atOnce.given);
			for (const one of statements) exportCommonJs({ facts, scope }, one);
			return;
		}
		case "AssignmentExpression":
			exportAssigned(place, node);
			return;
		default:
			for (const part of nodesIn(node, PARTS[node.type] ?? [])) exportCommonJs(place, part);
	}
}

const PARTS: Readonly<Record<string, readonly string[]>> = {
	IfStatement: ["consequent", "alternate"],
	TryStatement: ["block", "handler", "finalizer"],
	CatchClause: ["body"],
	ExpressionStatement: ["expression"],
	UnaryExpression: ["argument"],
	LogicalExpression: ["right"],
	ConditionalExpression: ["consequent", "alternate"],
	SequenceExpression: ["expressions"],
};

function declareNames(scope: Scope, node: Node): void {
	if (node.type === "VariableDeclaration") {
		if (node.kind !== "var") for (const { id } of node.declarations) scope.declarePattern(id, {});
	} else if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
		if (node.id) scope.declare(node.id, VALUE);
	}
}

/** `target` is another name for the value: `a` in `const a = module.exports = value`. */
function exportAssigned(place: Place, expression: Of<"AssignmentExpression">, target?: Node): void {
	const { facts, scope } = place;
	// `exports = module.exports = value` has several targets.
	const targets: Target[] = [];
	let value: Node = expression;
	while (value.type === "AssignmentExpression" && value.operator === "=") {
		const target = exportsAccess(scope, value.left);
		if (!target) break;
		targets.push({ ...target, node: value });
		value = value.right;
	}
	if (targets.length === 0) return;
	facts.commonJs = true;
	const whole = targets.find(({ key }) => !key);
	const exported = isOnlyNamed(place, value, target) ? target : value;
	let isCovered = whole !== undefined && exportWhole(place, exported, whole.node);
	for (const { key, node } of targets) {
		facts.done.add(node.left);
		if (key && !whole) isCovered = exportName(place, key, exported, node) || isCovered;
	}
	const last = targets.at(-1)?.node;
	if (last && value.type === "Identifier" && isCovered) facts.done.add(last);
}

function isOnlyNamed(place: Place, value: Node, target?: Node): target is Of<"Identifier"> {
	const isBound = target?.type === "Identifier" && place.scope.bindingOf(target.name) !== undefined;
	if (!isBound) return false;
	return value.type !== "Identifier" && !moduleCall(place, value);
}

interface Target {
	/** Absent for `module.exports` itself. */
	readonly key?: Key;
	readonly node: Of<"AssignmentExpression">;
}

export function exportsAccess(scope: Scope, node: Node): { key?: Key } | undefined {
	if (isExports(scope, node)) return {};
	if (node.type !== "MemberExpression" || !isExports(scope, node.object)) return undefined;
	const key = memberKey(node);
	return key && { key };
}

function isExports(scope: Scope, node: Node): boolean {
	if (node.type !== "MemberExpression") {
		return isNamed(node, "exports") && !scope.lookup("exports", VALUE);
	}
	const isOfModule = isNamed(node.object, "module") && memberKey(node)?.name === "exports";
	return isOfModule && !scope.lookup("module", VALUE);
}

function exportWhole(place: Place, value: Node, outer: Node): boolean {
	if (value.type === "ObjectExpression") {
		for (const property of value.properties) exportProperty(place, property);
		return false;
	}
	if (exportModule(place, "=", value)) return false;
	const made = factoryResult(place.facts, place.scope, value);
	if (made) {
		exportWhole({ facts: place.facts, scope: made.scope }, made.value, outer);
		return false;
	}
	return exportValue(place.facts, "=", value, outer, place.scope);
}

function exportProperty(place: Place, node: Of<"ObjectExpression">["properties"][number]): void {
	if (node.type === "SpreadElement") {
		exportStar(place, node.argument);
		return;
	}
	if (isFunction(node.value)) place.facts.methodsOfExports.add(node.value);
	const key = keyOf(node.key, node.computed);
	if (!key || isSecondAccessor(place.facts, key, node)) return;
	if (exportName(place, key, node.value, node)) place.facts.done.add(node);
}

/** A setter after its getter, or the other way around: both declare one name. */
function isSecondAccessor(facts: FactsBuilder, id: Key, node: Of<"Property">): boolean {
	if (node.kind === "init") return false;
	const first = facts.bindings[facts.commonJsNames.get(id.name) ?? -1];
	if (first?.kind !== "pending") return false;
	first.declarations.push({ symbol: "function", id, node: node.value, from: node.start });
	return true;
}

function exportStar(place: Place, value: Node): void {
	const call = moduleCall(place, value);
	if (call) place.facts.exports.push({ kind: "star", request: call.request, typeOnly: false });
}

/** Like `exportValue`, returns true if the value is a name of this file; false if `id` is already exported. */
function exportName(place: Place, id: Key, value: Node, outer: Node): boolean {
	const { name } = id;
	const { facts, scope } = place;
	const isKnown = facts.exports.some((one) => one.kind !== "star" && one.name === name);
	// Compilers emit `exports.a = void 0` before the actual value.
	const isVoid = value.type === "UnaryExpression" && value.operator === "void";
	if (isKnown || isVoid || exportModule(place, name, value)) return false;
	if (value.type === "Identifier" && exportBinding(facts, name, value, scope)) return true;
	const node = unwrap(value);
	const declaration = { symbol: symbolOfValue(node), id, node, from: outer.start };
	facts.commonJsNames.set(name, exportHidden(facts, name, declaration));
	return false;
}

function exportModule(place: Place, name: string, value: Node): boolean {
	const whole = moduleCall(place, value);
	const part = value.type === "MemberExpression" ? moduleCall(place, value.object) : undefined;
	const call = whole ?? part;
	const key = whole ? undefined : memberKey(value);
	if (!call || (!whole && !key)) return false;
	const imported = key?.name ?? call.imported;
	const { positions, exports } = place.facts;
	const at = key ? [positions.at(key.start)] : [];
	exports.push({ kind: "from", name, request: call.request, imported, at, typeOnly: false });
	return true;
}

/** Recognizes compiler output for `export * from` and `export { a } from`. */
function exportCall(place: Place, node: Of<"CallExpression">): void {
	const { facts, scope } = place;
	const { callee } = node;
	const [first, second, third] = node.arguments;
	const name = callee.type === "Identifier" ? callee.name : memberKey(callee)?.name;
	if (name === "__exportStar" && first && second && isExports(scope, second)) {
		exportStar(place, first);
		return;
	}
	if (name !== "defineProperty" || !first || !isExports(scope, first)) return;
	const key = second && keyOf(second, true);
	const source = third && importedBy(facts, getterResult(third));
	if (!key || !source) return;
	facts.commonJs = true;
	const at = [facts.positions.at(key.start)];
	facts.exports.push({ kind: "from", name: key.name, ...source, at, typeOnly: false });
}

function getterResult(descriptor: Node): Node | undefined {
	if (descriptor.type !== "ObjectExpression") return undefined;
	for (const property of descriptor.properties) {
		if (property.type !== "Property" || !isFunction(property.value)) continue;
		const { body } = property.value;
		const last = body?.type === "BlockStatement" ? body.body[0] : body;
		return (last?.type === "ReturnStatement" ? last.argument : last) ?? undefined;
	}
	return undefined;
}

function importedBy(
	facts: FactsBuilder,
	value: Node | undefined,
): { request: number; imported: string } | undefined {
	if (value?.type !== "MemberExpression" || value.object.type !== "Identifier") return undefined;
	const key = memberKey(value);
	const binding = facts.bindings[facts.top.bindingOf(value.object.name) ?? -1];
	if (!key || binding?.kind !== "imported") return undefined;
	const specifier = facts.requests[binding.request]?.specifier ?? "";
	facts.request(specifier, "re-export", value.start);
	return { request: binding.request, imported: key.name };
}
