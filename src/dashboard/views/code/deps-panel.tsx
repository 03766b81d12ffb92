import { useMemo, useState } from "preact/hooks";
import type { CodeDepsAnswer, CodeFileAtDepth } from "../../../protocol/index.ts";
import { Fold } from "../../parts/fold.tsx";
import { PlainText } from "../../parts/text.tsx";
import { formatCount, formatNumberOf } from "../format.ts";
import { Choice, Section } from "../section.tsx";
import { layoutGraph } from "./graph.ts";
import { GraphPicture } from "./graph-picture.tsx";

interface DepsPanelProps {
	answer: CodeDepsAnswer;
	depth: number;
	onDepth(depth: number): void;
	onFile(path: string): void;
	onClose(): void;
}

const MOST_IN_COLUMN = 12;

/** What a file needs, and what needs it: as a picture and in words. */
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
						values={[
							[1, "1 step"],
							[2, "2 steps"],
						]}
						chosen={depth}
						onChoose={onDepth}
					/>
					<button type="button" class="small" onClick={onClose}>
						Close
					</button>
				</div>
			}
		>
			<p>
				<b class="mono">
					<PlainText text={answer.file} most={400} />
				</b>{" "}
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
	files: readonly CodeFileAtDepth[];
	onFile(path: string): void;
}

function FileList({ title, files, onFile }: FileListProps) {
	return (
		<div>
			<h3>{title}</h3>
			{files.length === 0 && <p class="soft">nothing</p>}
			<ul class="usages">
				{files.slice(0, MOST_LISTED).map(({ path, depth, isTest }) => (
					<li key={path}>
						<button type="button" class="link mono" onClick={() => onFile(path)}>
							<PlainText text={path} most={300} />
						</button>
						{depth > 1 && <span class="soft small">{depth} steps</span>}
						{isTest && <span class="tag">test</span>}
					</li>
				))}
			</ul>
			{files.length > MOST_LISTED && (
				<p class="soft">And {formatCount(files.length - MOST_LISTED)} more.</p>
			)}
		</div>
	);
}
