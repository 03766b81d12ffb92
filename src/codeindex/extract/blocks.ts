import type { Node, Of } from "./ast.ts";
import { declareStatements } from "./declare.ts";
import { assign } from "./expressions.ts";
import { expect } from "./objects.ts";
import { eachName, visitPattern } from "./patterns.ts";
import { typeOfAnnotation } from "./receivers.ts";
import { declareLocal, inside, type LocalValue, VALUE } from "./scope.ts";
import type { Visits, Walk } from "./walk.ts";

/** Blocks, loops, and the statements that declare variables in them. */
export const blockVisits: Visits = {
	BlockStatement: (walk, node: Of<"BlockStatement">) => block(walk, node.body),
	StaticBlock: (walk, node: Of<"StaticBlock">) => block(walk, node.body, true),
	SwitchStatement(walk, node: Of<"SwitchStatement">) {
		walk.visit(node.discriminant);
		const statements = node.cases.flatMap((one) => one.consequent);
		inBlock(walk, statements, () => walk.visitAll(node.cases));
	},
	ForStatement(walk, node: Of<"ForStatement">) {
		inBlock(walk, node.init ? [node.init] : [], () => walk.visitParts(node));
	},
	ForInStatement: loop,
	ForOfStatement: loop,
	CatchClause(walk, node: Of<"CatchClause">) {
		const scope = inside(walk.scope);
		if (node.param) eachName(node.param, {}, (id, value) => declareLocal(scope, id, VALUE, value));
		walk.within(scope, () => {
			if (node.param) visitPattern(walk, node.param);
			walk.visit(node.body);
		});
	},
	VariableDeclaration(walk, node: Of<"VariableDeclaration">) {
		for (const declarator of node.declarations) {
			if (walk.draft.done.has(declarator)) continue;
			const { id, init } = declarator;
			if ("typeAnnotation" in id && id.typeAnnotation) {
				expect(walk.draft, init, typeOfAnnotation(walk.draft, walk.scope, id.typeAnnotation));
			}
			visitPattern(walk, id, { init: init ?? undefined });
			walk.visit(init);
		}
	},
	ReturnStatement(walk, node: Of<"ReturnStatement">) {
		expect(walk.draft, node.argument, walk.result);
		walk.visit(node.argument);
	},
};

/** Visits statements in a scope of their own. */
export function block(walk: Walk, statements: readonly Node[], isFunction = false): void {
	inBlock(walk, statements, () => walk.visitAll(statements), isFunction);
}

function inBlock(
	walk: Walk,
	statements: readonly Node[],
	visit: () => void,
	isFunction = false,
): void {
	if (!isFunction && !statements.some(mayDeclare)) {
		visit();
		return;
	}
	const scope = inside(walk.scope, { isFunction });
	declareStatements(walk.draft, scope, statements);
	if (scope.names.size > 0) walk.within(scope, visit);
	else visit();
}

/** Most blocks declare nothing, and a scope of their own would be the most of what they cost. */
function mayDeclare({ type }: Node): boolean {
	return !type.endsWith("Statement");
}

function loop(walk: Walk, node: Of<"ForOfStatement"> | Of<"ForInStatement">): void {
	walk.visit(node.right);
	const { left } = node;
	if (left.type !== "VariableDeclaration") {
		assign(walk, left, "write");
		walk.visit(node.body);
		return;
	}
	const scope = inside(walk.scope);
	const id = left.declarations[0]?.id;
	const value: LocalValue =
		node.type === "ForOfStatement" ? { init: node.right, element: true } : {};
	if (left.kind !== "var" && id) {
		eachName(id, value, (name, local) => declareLocal(scope, name, VALUE, local));
	}
	walk.within(scope, () => {
		if (id) visitPattern(walk, id, value);
		walk.visit(node.body);
	});
}
