import type { Data } from "../../../protocol/index.ts";

/** A picture of what is around a file. */
export type Graph = ReturnType<typeof layoutGraph>;
/** A file, or the count of the files that a column does not show. */
export type GraphNode = Graph["nodes"][number];
export type GraphEdge = Graph["edges"][number];

const BOX = { width: 170, height: 34, gapX: 60, gapY: 12, margin: 8 };

/** What a file needs is to its left, what needs it to its right, a column for each step: every arrow points to the left. */
export function layoutGraph(
	answer: Data<"CodeDepsAnswer">,
	{ depth, mostInColumn }: { depth: number; mostInColumn: number },
) {
	const cyclic = new Set(answer.cycles.flat());
	const columns = new Map<number, Draft[]>([[0, [{ path: answer.file, isTest: false }]]]);
	for (const [files, side] of [
		[answer.dependencies, -1],
		[answer.dependents, 1],
	] as const) {
		for (let step = 1; step <= depth; step++) {
			const column = drafted(
				files.filter((file) => file.depth === step),
				mostInColumn,
			);
			if (column.length > 0) columns.set(side * step, column);
		}
	}

	const order = [...columns.keys()].sort((one, other) => one - other);
	const tallest = Math.max(...[...columns.values()].map(({ length }) => length));
	const height = 2 * BOX.margin + tallest * (BOX.height + BOX.gapY) - BOX.gapY;
	const nodes = order.flatMap((column, at) => {
		const drafts = columns.get(column) ?? [];
		const top = (height - (drafts.length * (BOX.height + BOX.gapY) - BOX.gapY)) / 2;
		return drafts.map(({ path, more = 0, isTest }, row) => ({
			id: `${column}:${path ?? "more"}`,
			path,
			/** Files of the column that are not drawn; 0 for a file. */
			more,
			/** 0 is the centre, below it what it needs, above it what needs it. */
			column,
			isTest,
			isInCycle: path !== undefined && cyclic.has(path),
			/** The centre of the box. */
			x: BOX.margin + at * (BOX.width + BOX.gapX) + BOX.width / 2,
			y: top + row * (BOX.height + BOX.gapY) + BOX.height / 2,
		}));
	});
	return {
		nodes,
		edges: edgesOf(answer, nodes),
		width: 2 * BOX.margin + order.length * (BOX.width + BOX.gapX) - BOX.gapX,
		height,
		boxWidth: BOX.width,
		boxHeight: BOX.height,
	};
}

interface Draft {
	path?: string;
	more?: number;
	isTest: boolean;
}

function drafted(files: readonly Data<"CodeFileAtDepth">[], most: number): Draft[] {
	const drafts = files.map(({ path, isTest }): Draft => ({ path, isTest }));
	if (drafts.length <= most) return drafts;
	const kept = drafts.slice(0, most - 1);
	return [...kept, { more: drafts.length - kept.length, isTest: false }];
}

/** One arrow for each file, to the file by which it was reached. */
function edgesOf<Node extends { id: string }>(
	answer: Data<"CodeDepsAnswer">,
	nodes: readonly Node[],
) {
	const byId = new Map(nodes.map((node) => [node.id, node]));
	const at = (column: number, path: string) => byId.get(`${column}:${path}`);
	const edges: { from: Node; to: Node; isTypeOnly: boolean }[] = [];
	const draw = (file: Data<"CodeFileAtDepth">, side: -1 | 1) => {
		const node = at(side * file.depth, file.path);
		const nearer = at(side * (file.depth - 1), file.depth === 1 ? answer.file : (file.via ?? ""));
		if (!node || !nearer) return;
		const isTypeOnly = file.kinds.length > 0 && file.kinds.every((kind) => kind === "type");
		const [from, to] = side < 0 ? [nearer, node] : [node, nearer];
		edges.push({ from, to, isTypeOnly });
	};
	for (const file of answer.dependencies) draw(file, -1);
	for (const file of answer.dependents) draw(file, 1);
	return edges;
}

/** The first scroll position: the file in the middle, unless that would cut the names of what it needs. */
export function firstScroll({ nodes, boxWidth }: Graph, frameWidth: number): number {
	const x = (column: number) => nodes.find((node) => node.column === column)?.x;
	const middle = x(0) ?? 0;
	const left = (x(-1) ?? middle) - boxWidth / 2 - BOX.margin;
	return Math.max(0, Math.min(middle - frameWidth / 2, left));
}

/** Long names lose their beginning. */
export function boxText(path: string): { name: string; folder: string } {
	const cut = path.lastIndexOf("/");
	return {
		name: shortened(path.slice(cut + 1), MOST_OF_NAME),
		folder: shortened(path.slice(0, Math.max(0, cut)), MOST_OF_FOLDER),
	};
}

/** Characters that fit a box. */
const MOST_OF_NAME = 20;
const MOST_OF_FOLDER = 25;

function shortened(text: string, most: number): string {
	const characters = [...text];
	return characters.length <= most ? text : `…${characters.slice(1 - most).join("")}`;
}
