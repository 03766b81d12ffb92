import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Button, Fold, Scroller, TextButton } from "../../parts/controls.tsx";
import { formatCount, formatNumberOf } from "../../parts/figures.ts";
import { PlainText, visibleString } from "../../parts/text.tsx";
import { Choice, Section } from "../section.tsx";
import { Rest } from "../table.tsx";

type Deps = Data<"CodeDepsAnswer">;

interface DepsPanelProps {
	readonly answer: Deps;
	readonly depth: number;
	onDepth(depth: number): void;
	/** `undefined` closes the panel. */
	onFile(path: string | undefined): void;
}

export function DepsPanel({ answer, depth, onDepth, onFile }: DepsPanelProps) {
	// The lists start open on a phone, which has no room for the whole graph.
	const [isListed, setIsListed] = useState(() => matchMedia("(max-width: 560px)").matches);
	const graph = useMemo(() => layoutGraph(answer, { depth, maxInColumn: 12 }), [answer, depth]);
	const { dependencies, dependents, cycles, external, unresolved } = answer;
	return (
		<Section
			title="Dependencies"
			aside={
				<div class="row">
					<Choice
						label="Steps"
						values={{ 1: "1 step", 2: "2 steps" }}
						chosen={depth === 1 ? "1" : "2"}
						onChoose={(steps) => onDepth(Number(steps))}
					/>
					<Button class="small" onClick={() => onFile(undefined)} label="Close" />
				</div>
			}
		>
			<p>
				<PlainText as="b" class="mono" text={answer.file} max={400} />{" "}
				<span class="soft">
					depends on {formatNumberOf(dependencies.length, "file")}, is used by{" "}
					{formatCount(dependents.length)}
					{cycles.length > 0 &&
						`; these files are part of ${formatNumberOf(cycles.length, "cycle")}`}
				</span>
			</p>
			<GraphView graph={graph} onFile={onFile} />
			<Fold summary="As lists" isOpen={isListed} onToggle={setIsListed}>
				<div class="two-columns">
					<FileList title="Depends on" files={dependencies} onFile={onFile} />
					<FileList title="Used by" files={dependents} onFile={onFile} />
				</div>
			</Fold>
			{external.length > 0 && (
				<p class="soft small">
					Packages: <PlainText text={external.join(", ")} max={1000} />
				</p>
			)}
			{unresolved.length > 0 && (
				<p class="soft small">
					Unresolved imports:{" "}
					<PlainText
						text={unresolved.map(({ specifier, line }) => `${specifier} (line ${line})`).join(", ")}
						max={1000}
					/>
				</p>
			)}
		</Section>
	);
}

const MAX_LISTED = 200;

interface FileListProps {
	readonly title: string;
	readonly files: readonly Data<"CodeFileAtDepth">[];
	onFile(path: string): void;
}

function FileList({ title, files, onFile }: FileListProps) {
	return (
		<div>
			<h3>{title}</h3>
			{files.length === 0 && <p class="soft">none</p>}
			<ul class="usages plain-list">
				{files.slice(0, MAX_LISTED).map(({ path, depth, isTest }) => (
					<li key={path} class="row">
						<TextButton class="link mono" onClick={() => onFile(path)} text={path} max={300} />
						{depth > 1 && <span class="soft small">{depth} steps</span>}
						{isTest && <span class="tag">test</span>}
					</li>
				))}
			</ul>
			<Rest count={files.length - MAX_LISTED} />
		</div>
	);
}

function GraphView({ graph, onFile }: { graph: Graph; onFile(path: string): void }) {
	const frame = useRef<HTMLElement>(null);
	const { width, height, nodes, edges } = graph;
	useEffect(() => {
		const element = frame.current;
		if (element) element.scrollLeft = firstScroll(graph, element.clientWidth);
	}, [nodes]);
	return (
		<Scroller class="graph" ref={frame} aria-label="Dependency graph">
			<svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
				<title>Dependencies are on the left, dependents on the right</title>
				<defs>
					<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" orient="auto" {...ARROW_SIZE}>
						<path fill="var(--line-strong)" d="M0 0L8 4L0 8z" />
					</marker>
				</defs>
				{edges.map((edge) => (
					<Arrow key={`${edge.from.id} ${edge.to.id}`} edge={edge} />
				))}
				{nodes.map((node) => (
					<Box key={node.id} node={node} onFile={onFile} />
				))}
			</svg>
		</Scroller>
	);
}

const ARROW_SIZE = { markerWidth: 7, markerHeight: 7 };

function Arrow({ edge: { from, to, isTypeOnly } }: { edge: Graph["edges"][number] }) {
	const [x1, y1] = [from.x - BOX.width / 2, from.y];
	const [x2, y2] = [to.x + BOX.width / 2, to.y];
	const bend = (x1 - x2) / 2;
	return (
		<path
			class={isTypeOnly ? "arrow is-type" : "arrow"}
			d={`M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2 + 1} ${y2}`}
			marker-end="url(#arrow)"
		/>
	);
}

function Box({ node, onFile }: { node: Graph["nodes"][number]; onFile(path: string): void }) {
	const { width, height } = BOX;
	const { path, more, x, y, column } = node;
	const place = `translate(${x - width / 2} ${y - height / 2})`;
	if (path === undefined) {
		return (
			<text class="more" x={x} y={y + 4} text-anchor="middle">
				and {formatNumberOf(more, "more", "more")}
			</text>
		);
	}
	const { name, folder } = boxText(visibleString(path));
	const classes = [
		"box",
		column === 0 ? "is-middle" : "is-file",
		node.isTest && "is-test",
		node.isInCycle && "is-in-cycle",
	];
	const actions = column !== 0 && {
		role: "button" as const,
		// Lower case, because SVG attributes are case-sensitive.
		tabindex: 0,
		onClick: () => onFile(path),
		onKeyDown(event: KeyboardEvent) {
			if (event.key !== "Enter" && event.key !== " ") return;
			event.preventDefault();
			onFile(path);
		},
	};
	return (
		<g class={classes.filter(Boolean).join(" ")} transform={place} {...actions}>
			{/* The full path, because the box shows a shortened one. */}
			<title>{visibleString(path)}</title>
			<rect width={width} height={height} rx="5" />
			<text x="9" y={folder ? 15 : 21}>
				{name}
			</text>
			{folder && (
				<text class="folder" x="9" y="28">
					{folder}
				</text>
			)}
		</g>
	);
}

type Graph = ReturnType<typeof layoutGraph>;

export const BOX = { width: 170, height: 34, gapX: 60, gapY: 12, margin: 8 };

/** Dependencies are left of the file, dependents right, one column per step. Every arrow points left. */
export function layoutGraph(answer: Deps, options: { depth: number; maxInColumn: number }) {
	const { depth, maxInColumn } = options;
	const cyclic = new Set(answer.cycles.flat());
	const columns = new Map<number, GraphEntry[]>([[0, [{ path: answer.file, isTest: false }]]]);
	for (let step = 1; step <= depth; step++) {
		const addColumn = (side: 1 | -1, files: typeof answer.dependencies) => {
			const own = files.filter((file) => file.depth === step);
			if (own.length > 0) columns.set(side * step, entriesOf(own, maxInColumn));
		};
		addColumn(-1, answer.dependencies);
		addColumn(1, answer.dependents);
	}

	const order = [...columns.keys()].sort((one, other) => one - other);
	const tallest = Math.max(...[...columns.values()].map(({ length }) => length));
	const height = 2 * BOX.margin + tallest * (BOX.height + BOX.gapY) - BOX.gapY;
	const nodes = order.flatMap((column, at) => {
		const entries = columns.get(column) ?? [];
		const top = (height - (entries.length * (BOX.height + BOX.gapY) - BOX.gapY)) / 2;
		return entries.map(({ path, more = 0, isTest }, row) => ({
			id: `${column}:${path ?? "more"}`,
			path,
			/** The number of files that this node stands for and that are not drawn; 0 for a file. */
			more,
			/** 0: the file itself. Negative: its dependencies. Positive: its dependents. */
			column,
			isTest,
			isInCycle: path !== undefined && cyclic.has(path),
			x: BOX.margin + at * (BOX.width + BOX.gapX) + BOX.width / 2,
			y: top + row * (BOX.height + BOX.gapY) + BOX.height / 2,
		}));
	});
	return {
		nodes,
		edges: edgesOf(answer, nodes),
		width: 2 * BOX.margin + order.length * (BOX.width + BOX.gapX) - BOX.gapX,
		height,
	};
}

/** A file in a column, or the number of files left out (`more`). */
interface GraphEntry {
	readonly path?: string;
	readonly more?: number;
	readonly isTest: boolean;
}

function entriesOf(files: readonly Data<"CodeFileAtDepth">[], max: number): GraphEntry[] {
	if (files.length <= max) return [...files];
	return [...files.slice(0, max - 1), { more: files.length - max + 1, isTest: false }];
}

/** One arrow per file, between the file and the one through which it was reached. */
function edgesOf<Node extends { id: string }>(answer: Deps, nodes: readonly Node[]) {
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

/** The initial scroll position centres the file, unless that cuts off the names of its dependencies. */
export function firstScroll({ nodes }: Graph, frameWidth: number): number {
	const x = (column: number) => nodes.find((node) => node.column === column)?.x;
	const middle = x(0) ?? 0;
	const left = (x(-1) ?? middle) - BOX.width / 2 - BOX.margin;
	return Math.max(0, Math.min(middle - frameWidth / 2, left));
}

export function boxText(path: string): { name: string; folder: string } {
	const cut = path.lastIndexOf("/");
	return {
		name: shortened(path.slice(cut + 1), MAX_NAME),
		folder: shortened(path.slice(0, Math.max(0, cut)), MAX_FOLDER),
	};
}

const MAX_NAME = 20;
const MAX_FOLDER = 25;

function shortened(text: string, max: number): string {
	const characters = [...text];
	return characters.length <= max ? text : `…${characters.slice(1 - max).join("")}`;
}
