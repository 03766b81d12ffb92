import { useMemo, useState } from "preact/hooks";
import { Button, Fold } from "../../parts/controls.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Diff } from "../../parts/diff.tsx";
import { formatNumberOf } from "../../parts/figures.ts";
import { Empty } from "../../parts/notices.tsx";
import { unifiedDiff } from "../../parts/patch.ts";
import { syntaxOf } from "../../parts/syntax.ts";
import { PlainText } from "../../parts/text.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Section } from "../section.tsx";
import { type FileChange, fileChanges, openAtFirst, partsWithin } from "./file-changes.ts";

/** Lines of a file drawn at first, and more on demand: a diff of many small parts has many elements, too. */
const FIRST_LINES = 200;
const MORE_LINES = 400;

/** One diff of all that the session changed. */
export function ChangesView({ conversation, state }: SessionViewProps) {
	const { items } = conversation.value;
	const cwd = state.value?.cwd ?? "";
	const files = useMemo(() => fileChanges(items, cwd), [items, cwd]);
	const open = useMemo(() => openAtFirst(files), [files]);
	const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
	const [added, removed] = [sum(files, "added"), sum(files, "removed")];
	if (files.length === 0) {
		return (
			<div class="view">
				<Section title="Changes">
					<Empty>
						No file has been edited or written in this conversation yet. Here you will see one diff
						of all changes, file by file.
					</Empty>
				</Section>
			</div>
		);
	}
	return (
		<div class="view">
			<Section
				title={`${formatNumberOf(files.length, "file")} changed`}
				aside={
					<span class="row">
						<Counts added={added} removed={removed} />
						<CopyButton text={() => files.map(patchOf).join("")} what="the diff of all files" />
					</span>
				}
			>
				<p class="soft small">
					From the first version that the agent changed to the last, as its edit and write tools
					report it. What shell commands changed is not included.
				</p>
				{files.map((file) => {
					const isOpen = open.has(file.path) !== toggled.has(file.path);
					return (
						<File
							key={file.path}
							file={file}
							isOpen={isOpen}
							onToggle={() => setToggled(toggledSet(toggled, file.path))}
						/>
					);
				})}
			</Section>
		</div>
	);
}

function File(props: { file: FileChange; isOpen: boolean; onToggle(): void }) {
	const { file, isOpen, onToggle } = props;
	const [most, setMost] = useState(FIRST_LINES);
	const shown = partsWithin(file.parts, most);
	const rest = file.parts.length - shown.length;
	const linesTo = (count: number) =>
		file.parts.slice(0, count).reduce((sum, { lines }) => sum + lines.length, 0);
	const summary = (
		<>
			<PlainText as="code" text={file.path} max={300} />{" "}
			<Counts added={file.added} removed={file.removed} />
			{file.calls > 1 && <span class="small soft"> · {file.calls} calls</span>}
		</>
	);
	return (
		<Fold class="call changed-file" summary={summary} isOpen={isOpen} onToggle={onToggle}>
			{shown.map(({ kind, lines }, at) => (
				<div key={at}>
					{at > 0 && (
						<p class="soft small">
							The file was changed by something else in between. The next diff begins there.
						</p>
					)}
					{kind === "written" && (
						<p class="soft small">Written as a whole; what it replaced is not in the session.</p>
					)}
					{lines.length === 0 ? (
						<p class="soft small">The changes cancel each other out.</p>
					) : (
						<Diff lines={lines} syntax={syntaxOf(file.path)} first={FIRST_LINES} />
					)}
				</div>
			))}
			{rest > 0 && (
				<Button
					class="quiet small"
					onClick={() => setMost(Math.max(most + MORE_LINES, linesTo(shown.length + 1)))}
					label={`Show more (${formatNumberOf(rest, "diff")} left)`}
				/>
			)}
		</Fold>
	);
}

function Counts({ added, removed }: { added: number; removed: number }) {
	return (
		<span class="small number">
			<span class="good">+{added}</span> <span class="bad">−{removed}</span>
		</span>
	);
}

function patchOf({ path, parts }: FileChange): string {
	return parts
		.filter(({ lines }) => lines.length > 0)
		.map(({ kind, lines }) => unifiedDiff(path, lines, kind === "written"))
		.join("");
}

function toggledSet(before: ReadonlySet<string>, key: string): ReadonlySet<string> {
	const next = new Set(before);
	if (!next.delete(key)) next.add(key);
	return next;
}

function sum(files: readonly FileChange[], key: "added" | "removed"): number {
	return files.reduce((total, file) => total + file[key], 0);
}
