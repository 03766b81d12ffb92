import type { TypeName } from "../facts.ts";
import { bare, type Identifier, keyOf, type Node, type Of } from "./ast.ts";
import { addImport, type Draft, declareTop, MEANING, request } from "./draft.ts";
import { type ModuleCall, moduleCall } from "./modules.ts";
import { declareLocal, type LocalValue, lookup, type Scope, SPACE, VALUE } from "./scope.ts";

/** The body of a namespace: what it exports becomes its members. */
export interface Space {
	readonly owner: TypeName;
	/** Takes the exported names; every declaration of the namespace sees them. */
	readonly exported: Scope;
	/** In a `.d.ts` or `declare`d namespace everything is exported. */
	readonly ambient: boolean;
}

/** Declares all names of a list of statements, and the `var`s inside them if the scope is a function's. */
export function declareStatements(
	draft: Draft,
	scope: Scope,
	statements: readonly Node[],
	space?: Space,
): void {
	for (const statement of statements) {
		declareStatement({ draft, scope, space, exported: space?.ambient ?? false }, statement);
		if (scope.isFunction) hoistVars(draft, scope, statement);
	}
}

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

interface Place {
	readonly draft: Draft;
	readonly scope: Scope;
	readonly space: Space | undefined;
	readonly exported: boolean;
	/** Where the statement around begins. */
	readonly from?: number;
}

function declareStatement(place: Place, node: Node): void {
	const { draft, scope } = place;
	switch (node.type) {
		case "VariableDeclaration":
			if (node.kind !== "var" || place.space) declareVariables(place, node);
			return;
		case "FunctionDeclaration":
		case "TSDeclareFunction":
			if (node.id) add(place, "function", node.id, node);
			return;
		case "ClassDeclaration":
			if (node.id) add(place, "class", node.id, node);
			return;
		case "TSInterfaceDeclaration":
			add(place, "interface", node.id, node);
			return;
		case "TSTypeAliasDeclaration":
			add(place, "type", node.id, node);
			return;
		case "TSEnumDeclaration":
			add(place, "enum", node.id, node);
			return;
		case "TSModuleDeclaration": {
			const id = node.kind === "global" ? undefined : firstName(node.id);
			if (id) add(place, "namespace", id, node);
			return;
		}
		case "ImportDeclaration":
			declareImports(draft, scope, node);
			return;
		case "TSImportEqualsDeclaration":
			declareImportEquals(place, node);
			return;
		case "ExportNamedDeclaration":
			if (node.declaration) {
				declareStatement({ ...place, exported: true, from: node.start }, node.declaration);
			}
			return;
		case "ExportDefaultDeclaration":
			declareStatement({ ...place, exported: true, from: node.start }, node.declaration);
	}
}

/** Whether everything in a namespace is exported: it only declares, and has no export list. */
export function isAmbient(draft: Draft, { declare, body }: Of<"TSModuleDeclaration">): boolean {
	if (!declare && !draft.isDeclaration) return false;
	return !body?.body.some((one) => one.type === "ExportNamedDeclaration" && !one.declaration);
}

/** `A` of `namespace A.B.C`. */
export function firstName(id: Node): Identifier | undefined {
	if (id.type === "TSQualifiedName") return firstName(id.left);
	return id.type === "Identifier" ? id : undefined;
}

type Declarable = "function" | "class" | "interface" | "type" | "enum" | "variable" | "namespace";

function add(
	place: Place,
	symbol: Declarable,
	id: Identifier,
	node: Node,
	value: LocalValue = symbol === "variable" ? {} : { init: node },
): void {
	const { draft, scope, space } = place;
	const meaning = MEANING[symbol];
	if (scope === draft.top) {
		const from = place.from ?? node.start;
		const path = value.path;
		declareTop(draft, { symbol, id, node, from, ...(path && { path }) }, meaning);
	} else if (space && place.exported) {
		const { names } = space.exported;
		const known = names.get(id.name);
		if (known) known.meaning |= meaning;
		else names.set(id.name, { kind: "member", meaning, owner: space.owner, name: id.name });
	} else declareLocal(scope, id, meaning, localValue(node, value));
}

function localValue(node: Node, value: LocalValue): LocalValue {
	const isFunction = node.type === "FunctionDeclaration" || node.type === "TSDeclareFunction";
	return isFunction ? { function: node } : value;
}

function declareVariables(place: Place, node: Of<"VariableDeclaration">): void {
	const { draft, scope } = place;
	for (const declarator of node.declarations) {
		const { id, init } = declarator;
		if (init && (isMadeRequire(id, init) || importsModule(draft, scope, declarator))) continue;
		const from = node.declarations.length === 1 ? { from: place.from ?? node.start } : {};
		eachName(id, { init: init ?? undefined }, (name, value) => {
			add({ ...place, ...from }, "variable", name, declarator, value);
		});
	}
}

/** `const require = createRequire(…)`: not declared, since it does what the one of CommonJS does. */
function isMadeRequire(id: Node, init: Node): boolean {
	return (
		id.type === "Identifier" &&
		id.name === "require" &&
		init.type === "CallExpression" &&
		init.callee.type === "Identifier" &&
		init.callee.name === "createRequire"
	);
}

/** Makes imports of `const a = require("x")` and its like. False: it is a variable like any other. */
function importsModule(draft: Draft, scope: Scope, node: Of<"VariableDeclarator">): boolean {
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

function declareImports(draft: Draft, scope: Scope, node: Of<"ImportDeclaration">): void {
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

function declareImportEquals(place: Place, node: Of<"TSImportEqualsDeclaration">): void {
	const { draft, scope } = place;
	const { id, moduleReference: target } = node;
	const typeOnly = node.importKind === "type";
	const own = { name: id.name, at: id.start, typeOnly, scope };
	if (target.type === "TSExternalModuleReference") {
		const kind = typeOnly ? "type" : "require";
		const index = request(draft, target.expression.value, kind, target.expression.start);
		addImport(draft, { ...own, request: index, imported: "=" });
		draft.done.add(node);
		return;
	}
	// `import A = ns.A` is an import of its own if `ns` is one; otherwise it is close to a constant.
	if (target.type === "TSQualifiedName" && target.left.type === "Identifier") {
		const name = lookup(scope, target.left.name, SPACE);
		const space = name?.kind === "binding" ? draft.bindings[name.binding] : undefined;
		if (space?.kind === "imported" && space.imported === "*") {
			const importedAt = draft.positions.at(target.right.start);
			const imported = target.right.name;
			addImport(draft, { ...own, request: space.request, imported, importedAt });
			return;
		}
	}
	add(place, "variable", id, node, {});
	const added = scope.names.get(id.name);
	if (added) added.meaning |= VALUE | SPACE | MEANING.type;
}

/** Declares the `var`s inside a statement, which belong to the function around it. */
function hoistVars(draft: Draft, scope: Scope, node: Node | null | undefined): void {
	if (!node) return;
	switch (node.type) {
		case "VariableDeclaration":
			if (node.kind === "var") {
				declareVariables({ draft, scope, space: undefined, exported: false }, node);
			}
			return;
		case "ExportNamedDeclaration":
			if (node.declaration?.type === "VariableDeclaration" && node.declaration.kind === "var") {
				const place = { draft, scope, space: undefined, exported: true, from: node.start };
				declareVariables(place, node.declaration);
			}
			return;
		case "BlockStatement":
			for (const inner of node.body) hoistVars(draft, scope, inner);
			return;
		case "IfStatement":
			hoistVars(draft, scope, node.consequent);
			hoistVars(draft, scope, node.alternate);
			return;
		case "ForStatement":
			hoistVars(draft, scope, node.init);
			hoistVars(draft, scope, node.body);
			return;
		case "ForInStatement":
		case "ForOfStatement":
			hoistVars(draft, scope, node.left);
			hoistVars(draft, scope, node.body);
			return;
		case "WhileStatement":
		case "DoWhileStatement":
		case "LabeledStatement":
		case "WithStatement":
			hoistVars(draft, scope, node.body);
			return;
		case "TryStatement":
			hoistVars(draft, scope, node.block);
			hoistVars(draft, scope, node.handler?.body);
			hoistVars(draft, scope, node.finalizer);
			return;
		case "SwitchStatement":
			for (const { consequent } of node.cases) {
				for (const inner of consequent) hoistVars(draft, scope, inner);
			}
	}
}
