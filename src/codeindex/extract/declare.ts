import type { TypeName } from "../facts.ts";
import {
	dotted,
	isFunctionDeclaration,
	isNamed,
	type Key,
	type Node,
	nodesIn,
	type Of,
} from "./ast.ts";
import { MEANING, type Place, SYMBOLS } from "./facts-builder.ts";
import { declareImports, importsEquals, importsModule } from "./imports.ts";
import { ANY, eachName, type LocalValue, type Scope } from "./scope.ts";

export interface Namespace {
	readonly owner: TypeName;
	/** Exported names. All declarations of the namespace share them. */
	readonly exported: Scope;
	/** Whether all names are exported: in `.d.ts` or after `declare`, if there is no export list. */
	readonly ambient: boolean;
}

export function declareStatements(
	{ facts, scope }: Place,
	statements: readonly Node[],
	namespace?: Namespace,
): void {
	const target: Target = { facts, scope, namespace, exported: namespace?.ambient ?? false };
	const hoisting: Target = { facts, scope, namespace: undefined, exported: false };
	for (const statement of statements) {
		declareStatement(target, statement);
		if (scope.isFunction) hoistVars(hoisting, statement);
	}
}

interface Target extends Place {
	readonly namespace: Namespace | undefined;
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
			if (node.kind !== "var" || target.namespace) declareVariables(target, node);
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
	id: Key,
	node: Node,
	value: LocalValue = isFunctionDeclaration(node) ? { function: node } : { init: node },
): void {
	const { facts, scope, namespace } = target;
	const meaning = MEANING[symbol];
	if (scope === facts.top) {
		const from = target.from ?? node.start;
		const { path } = value;
		facts.declareTop({ symbol, id, node, from, ...(path && { path }) }, meaning);
	} else if (namespace && target.exported) {
		const { names } = namespace.exported;
		const known = names.get(id.name);
		if (known) known.meaning |= meaning;
		else names.set(id.name, { kind: "member", meaning, owner: namespace.owner, name: id.name });
	} else scope.declare(id, meaning, value);
}

function declareVariables(target: Target, node: Of<"VariableDeclaration">): void {
	for (const declarator of node.declarations) {
		const { id, init } = declarator;
		if (init && (isCreatedRequire(id, init) || importsModule(target, declarator))) continue;
		const from = node.declarations.length === 1 ? { from: target.from ?? node.start } : {};
		eachName(id, { init: init ?? undefined }, (name, value) => {
			add({ ...target, ...from }, "variable", name, declarator, value);
		});
	}
}

/** `const require = createRequire(…)` is not declared, since it acts like CommonJS `require`. */
function isCreatedRequire(id: Node, init: Node): boolean {
	return (
		isNamed(id, "require") &&
		init.type === "CallExpression" &&
		isNamed(init.callee, "createRequire")
	);
}

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
