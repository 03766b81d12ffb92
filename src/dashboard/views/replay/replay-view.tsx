import "./replay.css";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { client } from "../../connection/connection.ts";
import { Button } from "../../parts/controls.tsx";
import { useDraggedFiles } from "../../parts/dragged-files.ts";
import { ago, formatCount, shortPath, textOf } from "../../parts/figures.ts";
import { Answered, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";
import { ReplayReportView } from "./replay-report.tsx";
import { MOST_CHARACTERS, replayProblem, sizeProblem } from "./report.ts";

export function ReplayView() {
	const { state, replayFile, replayStored, stop } = useReplay();
	const isBusy = state.name === "running";
	return (
		<div class="sheet view">
			<h1>Replay</h1>
			<p class="soft">
				Takes a session file of pi and adds up what its requests cost, and what they would have cost
				under other ways of keeping the context. The file goes to your own server only.
			</p>
			<FileDrop isBusy={isBusy} onFile={replayFile} />
			<div role="status">
				{isBusy && (
					<p class="notice replay-state">
						Replaying <PlainText text={state.file} most={200} />… long sessions take some seconds.{" "}
						<Button class="small" onClick={stop} words="Stop" />
					</p>
				)}
			</div>
			{state.name === "failed" && <Problem text={state.why} />}
			{state.name === "done" && <ReplayReportView report={state.report} file={state.file} />}
			<StoredSessions isBusy={isBusy} onPick={replayStored} />
		</div>
	);
}

/** The whole page is the drop target. */
function FileDrop({ isBusy, onFile }: { isBusy: boolean; onFile(file: File): void }) {
	const id = useId();
	const [isOver, setIsOver] = useState(false);
	useDraggedFiles({ onOver: setIsOver, onDrop: (file) => !isBusy && onFile(file) });
	return (
		<section class={isOver ? "file-drop is-over" : "file-drop"} aria-label="Session file">
			<p>
				<label for={id}>Drop a session file here, or choose one</label>
			</p>
			<input
				id={id}
				type="file"
				accept=".jsonl"
				disabled={isBusy}
				onChange={(event) => {
					const file = event.currentTarget.files?.[0];
					// So that the same file can be chosen again.
					event.currentTarget.value = "";
					if (file) onFile(file);
				}}
			/>
			<p class="soft small">.jsonl, at most {MOST_CHARACTERS / 1e6} MB</p>
		</section>
	);
}

interface StoredSessionsProps {
	isBusy: boolean;
	onPick(session: Data<"StoredSession">): void;
}

function StoredSessions({ isBusy, onPick }: StoredSessionsProps) {
	const asked = useAnswer("list_stored_sessions", {});
	const [most, setMost] = useState(20);
	const now = useNow();
	const sessions = asked.data?.sessions.filter(({ fileExists }) => fileExists) ?? [];
	const rest = sessions.length - most;
	return (
		<Section title="From the sessions folder">
			<Answered asked={asked}>
				{() => sessions.length === 0 && <p class="soft">The sessions folder is empty.</p>}
			</Answered>
			{sessions.length > 0 && (
				<Table
					label="Stored sessions"
					rows={sessions.slice(0, most)}
					keyOf={({ sessionPath }) => sessionPath}
					columns={[
						{
							title: "Session",
							cell: (session) => (
								<button
									type="button"
									class="link"
									disabled={isBusy}
									onClick={() => onPick(session)}
								>
									<PlainText text={nameOf(session)} most={120} />
								</button>
							),
							class: "wide",
						},
						{
							title: "Folder",
							cell: ({ cwd }) => <PlainText text={shortPath(cwd)} most={80} />,
							class: "soft",
						},
						["Messages", ({ messageCount }) => formatCount(messageCount), "roomy"],
						["Last used", (row) => ago(Date.parse(row.modifiedAt) || 0, now), "soft"],
					]}
				/>
			)}
			{rest > 0 && (
				<Button
					class="small"
					onClick={() => setMost(most + 100)}
					words={`Show more (${formatCount(rest)} left)`}
				/>
			)}
			{asked.data?.truncated && <p class="soft small">There are more; these are the latest.</p>}
		</Section>
	);
}

function nameOf({ sessionName, firstMessage, sessionPath }: Data<"StoredSession">): string {
	return sessionName || firstMessage || sessionPath;
}

/** `file` is the name that people know it by. */
type ReplayState =
	| { name: "idle" }
	| { name: "running"; file: string }
	| { name: "failed"; why: string }
	| { name: "done"; file: string; report: Data<"ReplayReport"> };

/** One replay at a time: another one takes the place of the one before. */
function useReplay() {
	const [state, setState] = useState<ReplayState>({ name: "idle" });
	const running = useRef<AbortController>(undefined);
	useEffect(() => () => running.current?.abort(), []);

	async function run(
		file: string,
		fieldsOf: () => Promise<{ content: string } | { sessionPath: string }>,
	): Promise<void> {
		running.current?.abort();
		const own = new AbortController();
		running.current = own;
		setState({ name: "running", file });
		let next: ReplayState;
		try {
			const fields = await fieldsOf();
			const { data } = await client().request("replay_session", fields, { signal: own.signal });
			next = { name: "done", file, report: data };
		} catch (error) {
			next = { name: "failed", why: replayProblem(textOf(error), file) };
		}
		if (!own.signal.aborted) setState(next);
	}

	return {
		state,
		replayFile: (file: File) => run(file.name, async () => ({ content: await contentOf(file) })),
		replayStored: ({ sessionPath, sessionName, firstMessage }: Data<"StoredSession">) =>
			run(sessionName ?? firstMessage ?? sessionPath, async () => ({ sessionPath })),
		stop() {
			running.current?.abort();
			setState({ name: "idle" });
		},
	};
}

async function contentOf(file: File): Promise<string> {
	const known = { name: file.name, bytes: file.size };
	const early = sizeProblem(known);
	if (early !== undefined) throw new Error(early);
	const content = await file.text();
	const late = sizeProblem({ ...known, characters: content.length });
	if (late !== undefined) throw new Error(late);
	return content;
}
