import { visitorKeys } from "oxc-parser";
import type { TypeName, UsageKind } from "../facts.ts";
import { type Node, nodesIn } from "./ast.ts";
import { close, type Reached } from "./chains.ts";
import type { Draft } from "./draft.ts";
import type { Scope } from "./scope.ts";

/** Records uses. `scope` follows the current position. */
export interface Walk {
	readonly draft: Draft;
	scope: Scope;
	/** Return type of the enclosing function. */
	result: TypeName | undefined;
	/** Expressions count as read. */
	visit(node: Node | null | undefined): void;
	visitAll(nodes: readonly (Node | null)[] | null | undefined): void;
	visitParts(node: Node): void;
	use(node: Node | null | undefined, usage: UsageKind): void;
	reach(node: Node): Reached;
	within(scope: Scope, visit: () => void): void;
}

/** Visitors by node type; other nodes have all parts visited. */
export type Visits = Readonly<Record<string, ((walk: Walk, node: never) => void) | undefined>>;

export function only(...fields: string[]): (walk: Walk, node: Node) => void {
	return (walk, node) => walk.visitAll(nodesIn(node, fields));
}

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
