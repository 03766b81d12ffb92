import type { TypeName } from "../facts.ts";
import type { Identifier, Node, Of } from "./ast.ts";
import { type Draft, declareTop, MEANING } from "./draft.ts";
import { declareImports, importsEquals, importsModule } from "./imports.ts";
import { eachName } from "./patterns.ts";
import { declareLocal, type LocalValue, type Scope, SPACE, VALUE } from "./scope.ts";

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
			if (!importsEquals(draft, scope, node)) declareAlias(place, node);
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

/** The names that a block of JavaScript has for itself: all that its statements declare but `var`s. */
export function localNames(statements: readonly Node[]): readonly Identifier[] {
	const names: Identifier[] = [];
	for (const node of statements) {
		if (node.type === "VariableDeclaration" && node.kind !== "var") {
			for (const { id } of node.declarations) eachName(id, {}, (name) => names.push(name));
		} else if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
			if (node.id) names.push(node.id);
		}
	}
	return names;
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

function declareAlias(place: Place, node: Of<"TSImportEqualsDeclaration">): void {
	add(place, "variable", node.id, node, {});
	const added = place.scope.names.get(node.id.name);
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
