import type { TypeName } from "../facts.ts";
import {
	dotted,
	type Identifier,
	isFunctionDeclaration,
	type Node,
	nodesIn,
	type Of,
} from "./ast.ts";
import { declareTop, MEANING, type Place } from "./draft.ts";
import { declareImports, importsEquals, importsModule } from "./imports.ts";
import { ANY, declareLocal, eachName, type LocalValue, type Scope } from "./scope.ts";

/** The body of a namespace: what it exports becomes its members. */
export interface Space {
	readonly owner: TypeName;
	/** Takes the exported names; every declaration of the namespace sees them. */
	readonly exported: Scope;
	/** In a `.d.ts` or `declare`d namespace everything is exported. */
	readonly ambient: boolean;
}

/** What statements of these kinds declare. */
export const SYMBOLS: Readonly<Record<string, keyof typeof MEANING>> = {
	FunctionDeclaration: "function",
	TSDeclareFunction: "function",
	ClassDeclaration: "class",
	TSInterfaceDeclaration: "interface",
	TSTypeAliasDeclaration: "type",
	TSEnumDeclaration: "enum",
	TSModuleDeclaration: "namespace",
};

/** Declares all names of a list of statements, and the `var`s inside them if the scope is a function's. */
export function declareStatements(
	{ draft, scope }: Place,
	statements: readonly Node[],
	space?: Space,
): void {
	const target: Target = { draft, scope, space, exported: space?.ambient ?? false };
	const hoisting: Target = { draft, scope, space: undefined, exported: false };
	for (const statement of statements) {
		declareStatement(target, statement);
		if (scope.isFunction) hoistVars(hoisting, statement);
	}
}

interface Target extends Place {
	readonly space: Space | undefined;
	readonly exported: boolean;
	readonly from?: number;
}

function declareStatement(target: Target, node: Node): void {
	const symbol = SYMBOLS[node.type];
	if (symbol) {
		const isGlobal = node.type === "TSModuleDeclaration" && node.kind === "global";
		const [id] = isGlobal ? [] : dotted((node as Of<"ClassDeclaration">).id);
		if (id) add(target, symbol, id, node);
		return;
	}
	switch (node.type) {
		case "VariableDeclaration":
			if (node.kind !== "var" || target.space) declareVariables(target, node);
			return;
		case "ImportDeclaration":
			declareImports(target, node);
			return;
		case "TSImportEqualsDeclaration": {
			if (importsEquals(target, node)) return;
			add(target, "variable", node.id, node, {});
			const added = target.scope.names.get(node.id.name);
			if (added) added.meaning |= ANY;
			return;
		}
		case "ExportNamedDeclaration":
		case "ExportDefaultDeclaration":
			if (node.declaration) {
				declareStatement({ ...target, exported: true, from: node.start }, node.declaration);
			}
	}
}

function add(
	target: Target,
	symbol: keyof typeof MEANING,
	id: Identifier,
	node: Node,
	value: LocalValue = isFunctionDeclaration(node) ? { function: node } : { init: node },
): void {
	const { draft, scope, space } = target;
	const meaning = MEANING[symbol];
	if (scope === draft.top) {
		const from = target.from ?? node.start;
		const { path } = value;
		declareTop(draft, { symbol, id, node, from, ...(path && { path }) }, meaning);
	} else if (space && target.exported) {
		const { names } = space.exported;
		const known = names.get(id.name);
		if (known) known.meaning |= meaning;
		else names.set(id.name, { kind: "member", meaning, owner: space.owner, name: id.name });
	} else declareLocal(scope, id, meaning, value);
}

function declareVariables(target: Target, node: Of<"VariableDeclaration">): void {
	for (const declarator of node.declarations) {
		const { id, init } = declarator;
		if (init && (isMadeRequire(id, init) || importsModule(target, declarator))) continue;
		const from = node.declarations.length === 1 ? { from: target.from ?? node.start } : {};
		eachName(id, { init: init ?? undefined }, (name, value) => {
			add({ ...target, ...from }, "variable", name, declarator, value);
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

/** Where the statements inside a statement are, of those that do not begin a function. */
const NESTED: Readonly<Record<string, readonly string[]>> = {
	BlockStatement: ["body"],
	IfStatement: ["consequent", "alternate"],
	ForStatement: ["init", "body"],
	ForInStatement: ["left", "body"],
	ForOfStatement: ["left", "body"],
	WhileStatement: ["body"],
	DoWhileStatement: ["body"],
	LabeledStatement: ["body"],
	WithStatement: ["body"],
	TryStatement: ["block", "handler", "finalizer"],
	CatchClause: ["body"],
	SwitchStatement: ["cases"],
	SwitchCase: ["consequent"],
};

/** Declares the `var`s inside a statement, which belong to the function around it. */
function hoistVars(target: Target, node: Node): void {
	if (node.type === "VariableDeclaration") {
		if (node.kind === "var") declareVariables(target, node);
		return;
	}
	if (node.type === "ExportNamedDeclaration") {
		const exported = { ...target, exported: true, from: node.start };
		if (node.declaration?.type === "VariableDeclaration") hoistVars(exported, node.declaration);
		return;
	}
	const nested = NESTED[node.type];
	if (nested) for (const inner of nodesIn(node, nested)) hoistVars(target, inner);
}
