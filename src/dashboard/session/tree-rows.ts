import type { FlatTreeNode } from "../../protocol/index.ts";

/** One line of a tree. */
export interface TreeRow {
	key: string;
	id: string;
	/** How many branchings lie above: a conversation without branches is not indented, however long it is. */
	depth: number;
	who: string;
	preview: string;
	label: string | undefined;
	isOnBranch: boolean;
	isLeaf: boolean;
	/** Only what the user said can be forked at. */
	canFork: boolean;
}

/** Entries that people look for; the others are shown when all are asked for. */
const MAIN: ReadonlySet<string> = new Set(["message", "compaction", "branch_summary"]);

/** Messages that nobody said. */
const BESIDE: ReadonlySet<string> = new Set(["toolResult", "system"]);

/** The lines of a tree, each branch whole and in order, the one that is in use last. */
export function treeRows(
	nodes: readonly FlatTreeNode[],
	leafId: string | null,
	isAll: boolean,
): TreeRow[] {
	const byId = new Map(nodes.map((node) => [node.id, node]));
	const onBranch = new Set<string>();
	for (let id = leafId; id !== null && !onBranch.has(id); id = byId.get(id)?.parentId ?? null) {
		onBranch.add(id);
	}
	const children = new Map<string | null, FlatTreeNode[]>();
	for (const node of nodes) {
		// One whose parent is not among them begins a tree of its own.
		const parent = node.parentId !== null && byId.has(node.parentId) ? node.parentId : null;
		const list = children.get(parent);
		if (list) list.push(node);
		else children.set(parent, [node]);
	}
	const rows: TreeRow[] = [];
	const stack = reversed(children.get(null), onBranch).map((node) => ({ node, depth: 0 }));
	const seen = new Set<string>();
	for (let next = stack.pop(); next; next = stack.pop()) {
		const { node, depth } = next;
		if (seen.has(node.id)) continue;
		seen.add(node.id);
		const isLeaf = node.id === leafId;
		if (isAll || isLeaf || isMain(node)) {
			rows.push({
				key: node.id,
				id: node.id,
				depth,
				who: whoOf(node),
				preview: node.preview,
				label: node.label,
				isOnBranch: onBranch.has(node.id),
				isLeaf,
				canFork: node.type === "message" && node.role === "user",
			});
		}
		const below = reversed(children.get(node.id), onBranch);
		const deeper = below.length > 1 ? depth + 1 : depth;
		for (const child of below) stack.push({ node: child, depth: deeper });
	}
	return rows;
}

/** In the order of a stack: what is in use comes out last. */
function reversed(
	nodes: readonly FlatTreeNode[] | undefined,
	onBranch: ReadonlySet<string>,
): FlatTreeNode[] {
	const list = nodes ?? [];
	const inUse = list.filter(({ id }) => onBranch.has(id));
	const others = list.filter(({ id }) => !onBranch.has(id));
	return [...inUse, ...others.reverse()];
}

function isMain({ type, role, label }: FlatTreeNode): boolean {
	return label !== undefined || (MAIN.has(type) && !BESIDE.has(role ?? ""));
}

function whoOf({ type, role }: FlatTreeNode): string {
	const names: Record<string, string> = {
		user: "You",
		assistant: "Model",
		toolResult: "Result",
		bashExecution: "Shell",
		compaction: "Compaction",
		branch_summary: "Summary",
	};
	return names[role ?? type] ?? (role ?? type).replaceAll("_", " ");
}
