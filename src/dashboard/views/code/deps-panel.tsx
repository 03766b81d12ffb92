import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Button, Fold, TextButton } from "../../parts/controls.tsx";
import { formatCount, formatNumberOf } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { visibleString } from "../../parts/visible-text.ts";
import { Choice, Section } from "../section.tsx";
import { Rest } from "../table.tsx";
import {
	boxText,
	firstScroll,
	type Graph,
	type GraphEdge,
	type GraphNode,
	layoutGraph,
} from "./graph.ts";

interface DepsPanelProps {
	answer: Data<"CodeDepsAnswer">;
	depth: number;
	onDepth(depth: number): void;
	onFile(path: string): void;
	onClose(): void;
}

const MOST_IN_COLUMN = 12;

export function DepsPanel({ answer, depth, onDepth, onFile, onClose }: DepsPanelProps) {
	// A phone has no room for the whole picture.
	const [isListed, setIsListed] = useState(() => matchMedia("(max-width: 560px)").matches);
	const graph = useMemo(
		() => layoutGraph(answer, { depth, mostInColumn: MOST_IN_COLUMN }),
		[answer, depth],
	);
	const { dependencies, dependents, cycles, external, unresolved } = answer;
	return (
		<Section
			title="Around a file"
			aside={
				<div class="row">
					<Choice
						label="Steps"
						values={{ 1: "1 step", 2: "2 steps" }}
						chosen={depth === 1 ? "1" : "2"}
						onChoose={(steps) => onDepth(Number(steps))}
					/>
					<Button class="small" onClick={onClose} words="Close" />
				</div>
			}
		>
			<p>
				<PlainText as="b" class="mono" text={answer.file} most={400} />{" "}
				<span class="soft">
					needs {formatNumberOf(dependencies.length, "file")}, needed by{" "}
					{formatCount(dependents.length)}
					{cycles.length > 0 && `, in ${formatNumberOf(cycles.length, "cycle")}`}
				</span>
			</p>
			<GraphPicture graph={graph} onFile={onFile} />
			<Fold summary="As lists" isOpen={isListed} onToggle={setIsListed}>
				<div class="two-columns">
					<FileList title="It needs" files={dependencies} onFile={onFile} />
					<FileList title="Needed by" files={dependents} onFile={onFile} />
				</div>
			</Fold>
			{external.length > 0 && (
				<p class="soft small">
					Packages: <PlainText text={external.join(", ")} most={1000} />
				</p>
			)}
			{unresolved.length > 0 && (
				<p class="soft small">
					Not found:{" "}
					<PlainText
						text={unresolved.map(({ specifier, line }) => `${specifier} (line ${line})`).join(", ")}
						most={1000}
					/>
				</p>
			)}
		</Section>
	);
}

const MOST_LISTED = 200;

interface FileListProps {
	title: string;
	files: readonly Data<"CodeFileAtDepth">[];
	onFile(path: string): void;
}

function FileList({ title, files, onFile }: FileListProps) {
	return (
		<div>
			<h3>{title}</h3>
			{files.length === 0 && <p class="soft">nothing</p>}
			<ul class="usages plain-list">
				{files.slice(0, MOST_LISTED).map(({ path, depth, isTest }) => (
					<li key={path}>
						<TextButton class="link mono" onClick={() => onFile(path)} text={path} most={300} />
						{depth > 1 && <span class="soft small">{depth} steps</span>}
						{isTest && <span class="tag">test</span>}
					</li>
				))}
			</ul>
			<Rest count={files.length - MOST_LISTED} />
		</div>
	);
}

/** Files as boxes with arrows to what they import; a click or Enter centres a file. */
function GraphPicture({ graph, onFile }: { graph: Graph; onFile(path: string): void }) {
	const frame = useRef<HTMLElement>(null);
	const { width, height, nodes, edges } = graph;
	useEffect(() => {
		const element = frame.current;
		if (!element) return;
		element.scrollLeft = firstScroll(graph, element.clientWidth);
	}, [nodes]);
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
		<section class="graph" ref={frame} aria-label="Files around it" tabIndex={0}>
			<svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
				<title>What the file needs is to its left, what needs it to its right</title>
				<defs>
					<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" orient="auto" {...ARROW_SIZE}>
						<path fill="var(--line-strong)" d="M0 0L8 4L0 8z" />
					</marker>
				</defs>
				{edges.map((edge) => (
					<Arrow key={`${edge.from.id} ${edge.to.id}`} edge={edge} boxWidth={graph.boxWidth} />
				))}
				{nodes.map((node) => (
					<Box key={node.id} node={node} graph={graph} onFile={onFile} />
				))}
			</svg>
		</section>
	);
}

const ARROW_SIZE = { markerWidth: 7, markerHeight: 7 };

function Arrow({ edge, boxWidth }: { edge: GraphEdge; boxWidth: number }) {
	const x1 = edge.from.x - boxWidth / 2;
	const x2 = edge.to.x + boxWidth / 2;
	const bend = (x1 - x2) / 2;
	const { y: y1 } = edge.from;
	const { y: y2 } = edge.to;
	return (
		<path
			class={edge.isTypeOnly ? "arrow is-type" : "arrow"}
			d={`M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2 + 1} ${y2}`}
			marker-end="url(#arrow)"
		/>
	);
}

interface BoxProps {
	node: GraphNode;
	graph: Graph;
	onFile(path: string): void;
}

function Box({ node, graph, onFile }: BoxProps) {
	const { boxWidth: width, boxHeight: height } = graph;
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
		// The attributes of SVG keep their case.
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
			{/* The words in the box are short for it. */}
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
