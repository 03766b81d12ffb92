import { visitorKeys } from "oxc-parser";
import type { TypeName, UsageKind } from "../facts.ts";
import { type Node, nodesIn } from "./ast.ts";
import { close, type Reached } from "./chains.ts";
import type { Draft } from "./draft.ts";
import type { Scope } from "./scope.ts";

/** A walk through the tree that notes what is used. The scope is that of the place it is at. */
export interface Walk {
	readonly draft: Draft;
	scope: Scope;
	/** What the function around must return. */
	result: TypeName | undefined;
	/** Visits anything. Expressions count as read. */
	visit(node: Node | null | undefined): void;
	visitAll(nodes: readonly (Node | null)[] | null | undefined): void;
	/** Visits all parts of a node, in order. */
	visitParts(node: Node): void;
	/** Visits an expression that is used in some way. */
	use(node: Node | null | undefined, usage: UsageKind): void;
	/** Visits an expression and returns what it is, leaving its use to the caller. */
	reach(node: Node): Reached;
	within(scope: Scope, visit: () => void): void;
}

/** What to do at nodes of a kind; other nodes have all their parts visited. */
export type Visits = Readonly<Record<string, ((walk: Walk, node: never) => void) | undefined>>;

/** A visit of these fields alone. */
export function only(...fields: string[]): (walk: Walk, node: Node) => void {
	return (walk, node) => walk.visitAll(nodesIn(node, fields));
}

/** Notes all references of a program whose top level is declared. */
export function walkProgram(
	draft: Draft,
	program: Node,
	visits: Visits,
	reach: (walk: Walk, node: Node) => Reached,
): void {
	const walk: Walk = {
		draft,
		scope: draft.top,
		result: undefined,
		visit(node) {
			if (!node) return;
			const visit = visits[node.type] as ((walk: Walk, node: Node) => void) | undefined;
			if (visit) visit(walk, node);
			else walk.visitParts(node);
		},
		visitAll(nodes) {
			if (nodes) for (const node of nodes) if (node) walk.visit(node);
		},
		visitParts(node) {
			const parts = node as unknown as Record<string, Node | (Node | null)[] | null | undefined>;
			for (const key of visitorKeys[node.type] ?? []) {
				const part = parts[key];
				if (Array.isArray(part)) walk.visitAll(part);
				else if (part) walk.visit(part);
			}
		},
		use(node, usage) {
			if (node) close(draft, reach(walk, node), usage);
		},
		reach: (node) => reach(walk, node),
		within(scope, visit) {
			const outer = walk.scope;
			walk.scope = scope;
			visit();
			walk.scope = outer;
		},
	};
	walk.visitParts(program);
}
