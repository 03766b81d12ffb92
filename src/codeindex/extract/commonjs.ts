import {
	bare,
	isFunction,
	type Key,
	keyOf,
	type Node,
	nodesIn,
	type Of,
	symbolOfValue,
} from "./ast.ts";
import { type Draft, declareHidden, type Place, request } from "./draft.ts";
import { exportValue } from "./exports.ts";
import { moduleCall } from "./imports.ts";
import {
	bindingOf,
	declareLocal,
	declarePattern,
	inside,
	lookup,
	type Scope,
	VALUE,
} from "./scope.ts";

/** Includes conditional exports. Exports inside functions are ignored. */
export function exportCommonJs(place: Place, node: Node): void {
	switch (node.type) {
		case "VariableDeclaration":
			for (const { id, init } of node.declarations) {
				if (init?.type === "AssignmentExpression") exportAssigned(place, init, id);
			}
			return;
		case "BlockStatement": {
			const scope = inside(place.scope);
			for (const one of node.body) declareNames(scope, one);
			for (const one of node.body) exportCommonJs({ draft: place.draft, scope }, one);
			return;
		}
		case "CallExpression":
			exportCall(place, node);
			return;
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
	LogicalExpression: ["right"],
	ConditionalExpression: ["consequent", "alternate"],
	SequenceExpression: ["expressions"],
};

function declareNames(scope: Scope, node: Node): void {
	if (node.type === "VariableDeclaration") {
		if (node.kind !== "var") for (const { id } of node.declarations) declarePattern(scope, id, {});
	} else if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
		if (node.id) declareLocal(scope, node.id, VALUE);
	}
}

/** `target` is another name of the value: `const a = module.exports = value`. */
function exportAssigned(place: Place, expression: Of<"AssignmentExpression">, target?: Node): void {
	const { draft, scope } = place;
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
	draft.commonJs = true;
	const whole = targets.find(({ key }) => !key);
	const exported = isOnlyNamed(place, value, target) ? target : value;
	if (whole) exportWhole(place, exported, whole.node);
	for (const { key, node } of targets) {
		draft.done.add(node.left);
		if (key && !whole) exportName(place, key, exported, node);
	}
	const last = targets.at(-1)?.node;
	if (last && value.type === "Identifier" && isNoted(draft, value)) draft.done.add(last);
}

function isOnlyNamed(
	place: Place,
	value: Node,
	target: Node | undefined,
): target is Of<"Identifier"> {
	const isBound =
		target?.type === "Identifier" && bindingOf(place.scope, target.name) !== undefined;
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
	const key = keyOf(node.property, node.computed);
	return key && { key };
}

function isExports(scope: Scope, node: Node): boolean {
	if (node.type === "Identifier") {
		return node.name === "exports" && !lookup(scope, "exports", VALUE);
	}
	return (
		node.type === "MemberExpression" &&
		node.object.type === "Identifier" &&
		node.object.name === "module" &&
		keyOf(node.property, node.computed)?.name === "exports" &&
		!lookup(scope, "module", VALUE)
	);
}

function exportWhole(place: Place, value: Node, outer: Node): void {
	if (value.type === "ObjectExpression") {
		for (const property of value.properties) exportProperty(place, property);
		return;
	}
	if (!exportModule(place, "=", value)) exportValue(place.draft, "=", value, outer, place.scope);
}

function exportProperty(
	place: Place,
	property: Of<"ObjectExpression">["properties"][number],
): void {
	const { draft } = place;
	if (property.type === "SpreadElement") {
		const call = moduleCall(place, property.argument);
		if (call) draft.exports.push({ kind: "star", request: call.request, typeOnly: false });
		return;
	}
	const key = keyOf(property.key, property.computed);
	if (!key) return;
	exportName(place, key, property.value, property);
	if (property.value.type === "Identifier" && isNoted(draft, property.value)) {
		draft.done.add(property);
	}
}

function exportName(place: Place, key: Key, value: Node, outer: Node): void {
	const { draft, scope } = place;
	const { positions, exports } = draft;
	const isKnown = exports.some((one) => one.kind !== "star" && one.name === key.name);
	if (isKnown || isVoid(value) || exportModule(place, key.name, value)) return;
	const named = value.type === "Identifier" ? bindingOf(scope, value.name) : undefined;
	if (named !== undefined) {
		const at = [positions.at(value.start)];
		exports.push({ kind: "local", name: key.name, binding: named, at, typeOnly: false });
		return;
	}
	const made = bare(value);
	const symbol = symbolOfValue(made);
	const id = { name: key.name, start: key.start, end: key.start + key.name.length };
	const binding = declareHidden(draft, { symbol, id, node: made, from: outer.start });
	if (symbol === "class") draft.owners.set(made, { binding, side: "value" });
	draft.commonJsNames.set(key.name, binding);
	exports.push({ kind: "local", name: key.name, binding, typeOnly: false });
}

function exportModule(place: Place, name: string, value: Node): boolean {
	const whole = moduleCall(place, value);
	const part = value.type === "MemberExpression" ? value : undefined;
	const call = whole ?? (part && moduleCall(place, part.object));
	const key = part && keyOf(part.property, part.computed);
	if (!call || (!whole && !key)) return false;
	const imported = whole ? call.imported : (key?.name ?? "");
	const { positions, exports } = place.draft;
	const at = key && !whole ? [positions.at(key.start)] : [];
	exports.push({ kind: "from", name, request: call.request, imported, at, typeOnly: false });
	return true;
}

/** Compilers emit `exports.a = void 0` first. */
function isVoid(value: Node): boolean {
	return value.type === "UnaryExpression" && value.operator === "void";
}

/** Whether the export covers the value, so that it is not recorded as a reference too. */
function isNoted(draft: Draft, value: Node): boolean {
	const [line, column] = draft.positions.at(value.start);
	return draft.exports.some(
		(one) =>
			one.kind === "local" && one.at?.some((place) => place[0] === line && place[1] === column),
	);
}

/** Compiler output for `export * from` and `export { a } from`. */
function exportCall(place: Place, node: Of<"CallExpression">): void {
	const { draft, scope } = place;
	const { callee } = node;
	const [first, second, third] = node.arguments;
	const name =
		callee.type === "MemberExpression"
			? keyOf(callee.property, callee.computed)?.name
			: callee.type === "Identifier"
				? callee.name
				: undefined;
	if (name === "__exportStar" && first && second && isExports(scope, second)) {
		const call = moduleCall(place, first);
		if (call) draft.exports.push({ kind: "star", request: call.request, typeOnly: false });
		return;
	}
	if (name !== "defineProperty" || !first || !isExports(scope, first)) return;
	const key = second && keyOf(second, true);
	const source = third && importedBy(draft, getterResult(third));
	if (!key || !source) return;
	draft.commonJs = true;
	const at = [draft.positions.at(key.start)];
	draft.exports.push({ kind: "from", name: key.name, ...source, at, typeOnly: false });
}

function getterResult(descriptor: Node): Node | undefined {
	if (descriptor.type !== "ObjectExpression") return undefined;
	for (const property of descriptor.properties) {
		if (property.type !== "Property" || !isFunction(property.value)) continue;
		const { body } = property.value;
		const last = body?.type === "BlockStatement" ? body.body[0] : body;
		return last?.type === "ReturnStatement" ? (last.argument ?? undefined) : (last ?? undefined);
	}
	return undefined;
}

function importedBy(
	draft: Draft,
	value: Node | undefined,
): { request: number; imported: string } | undefined {
	if (value?.type !== "MemberExpression" || value.object.type !== "Identifier") return undefined;
	const key = keyOf(value.property, value.computed);
	const binding = draft.bindings[bindingOf(draft.top, value.object.name) ?? -1];
	if (!key || binding?.kind !== "imported") return undefined;
	const specifier = draft.requests[binding.request]?.specifier ?? "";
	request(draft, specifier, "re-export", value.start);
	return { request: binding.request, imported: key.name };
}
