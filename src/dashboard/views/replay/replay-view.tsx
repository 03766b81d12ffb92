import "./replay.css";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { CommandFields, Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { client } from "../../connection/connection.ts";
import { Button, TextButton } from "../../parts/controls.tsx";
import { useDraggedFiles } from "../../parts/dragged-files.ts";
import { ago, errorMessage, formatCount, shortPath } from "../../parts/figures.ts";
import { Answered, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";
import { ReplayReportView } from "./replay-report.tsx";

export function ReplayView() {
	const { state, replayFile, replayStored, stop } = useReplay();
	const isBusy = state.name === "running";
	return (
		<div class="sheet view">
			<h1>Replay</h1>
			<p class="soft">
				Shows what the requests of a pi session cost, and what they would have cost under other
				context policies. The session file is sent only to your own server.
			</p>
			<FileDrop isBusy={isBusy} onFile={replayFile} />
			<div role="status">
				{isBusy && (
					<p class="notice">
						Replaying <PlainText text={state.file} max={200} />… Long sessions take a few seconds.{" "}
						<Button class="small" onClick={stop} label="Stop" />
					</p>
				)}
			</div>
			{state.name === "failed" && <Problem text={state.why} />}
			{state.name === "done" && <ReplayReportView report={state.report} file={state.file} />}
			<StoredSessions isBusy={isBusy} onPick={replayStored} />
		</div>
	);
}

/** Accepts a file dropped anywhere on the page. */
function FileDrop({ isBusy, onFile }: { isBusy: boolean; onFile(file: File): void }) {
	const id = useId();
	const [isOver, setIsOver] = useState(false);
	useDraggedFiles({ onOver: setIsOver, onDrop: (file) => !isBusy && onFile(file) });
	return (
		<section class={`file-drop stack ${isOver ? "is-over" : ""}`} aria-label="Session file">
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
					// Cleared, so that choosing the same file again fires `change`.
					event.currentTarget.value = "";
					if (file) onFile(file);
				}}
			/>
			<p class="soft small">.jsonl, up to {MAX_CHARACTERS / 1e6} MB</p>
		</section>
	);
}

type Stored = Data<"StoredSession">;

function StoredSessions({ isBusy, onPick }: { isBusy: boolean; onPick(session: Stored): void }) {
	const answer = useAnswer("list_stored_sessions", {});
	const now = useNow();
	const sessions = answer.data?.sessions.filter(({ fileExists }) => fileExists) ?? [];
	return (
		<Section title="From the sessions folder">
			<Answered answer={answer}>
				{() => sessions.length === 0 && <p class="soft">The sessions folder is empty.</p>}
			</Answered>
			{sessions.length > 0 && (
				<Table
					label="Stored sessions"
					rows={sessions}
					maxRows={20}
					more={100}
					keyOf={({ sessionPath }) => sessionPath}
					columns={[
						{
							title: "Session",
							cell: (session) => (
								<TextButton
									disabled={isBusy}
									onClick={() => onPick(session)}
									text={nameOf(session)}
									max={120}
								/>
							),
							class: "wide",
						},
						{
							title: "Folder",
							cell: ({ cwd }) => <PlainText text={shortPath(cwd)} max={80} />,
							class: "soft",
						},
						["Messages", ({ messageCount }) => formatCount(messageCount), "roomy"],
						["Last used", (row) => ago(Date.parse(row.modifiedAt) || 0, now), "soft"],
					]}
				/>
			)}
			{answer.data?.truncated && <p class="soft small">Only the most recent sessions are shown.</p>}
		</Section>
	);
}

function nameOf({ sessionName, firstMessage, sessionPath }: Stored): string {
	return sessionName || firstMessage || sessionPath;
}

type ReplayState =
	| { name: "idle" }
	| { name: "running"; file: string }
	| { name: "failed"; why: string }
	| { name: "done"; file: string; report: Data<"ReplayReport"> };

/** One replay at a time: a new one aborts the one in flight. */
function useReplay() {
	const [state, setState] = useState<ReplayState>({ name: "idle" });
	const running = useRef<AbortController>(undefined);
	useEffect(() => () => running.current?.abort(), []);

	async function run(file: string, fieldsOf: () => Promise<CommandFields<"replay_session">>) {
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
			next = { name: "failed", why: replayProblem(errorMessage(error), file) };
		}
		if (!own.signal.aborted) setState(next);
	}

	return {
		state,
		replayFile: (file: File) => run(file.name, async () => ({ content: await contentOf(file) })),
		replayStored: (session: Stored) =>
			run(nameOf(session), async () => ({ sessionPath: session.sessionPath })),
		stop() {
			running.current?.abort();
			setState({ name: "idle" });
		},
	};
}

async function contentOf(file: File): Promise<string> {
	const check = (characters: number) => {
		const problem = sizeProblem({ name: file.name, bytes: file.size, characters });
		if (problem !== undefined) throw new Error(problem);
	};
	check(0);
	const content = await file.text();
	check(content.length);
	return content;
}

/** Maximum length of a session file that the server accepts, in characters. */
export const MAX_CHARACTERS = 8_000_000;

/** Larger files are not read at all: even with four bytes per character they are too long. */
const MAX_BYTES = 4 * MAX_CHARACTERS;

/** Returns why a file is refused. Called before the file is read, and again with its length. */
export function sizeProblem(file: { name: string; bytes: number; characters?: number }) {
	const { name, bytes, characters = 0 } = file;
	if (bytes === 0) return `${name} is empty.`;
	if (bytes <= MAX_BYTES && characters <= MAX_CHARACTERS) return undefined;
	const size = (Math.max(bytes, characters) / 1e6).toFixed(1);
	return `${name} is too large: ${size} MB, but the server accepts at most ${MAX_CHARACTERS / 1e6} MB. Put the file in the sessions folder and choose it from the list, or run: strata replay <file>`;
}

/** Inserts the file's name, which the server does not know if only the text was sent. */
export function replayProblem(why: string, file: string): string {
	return why.replace(/^content(?= )/, () => file);
}
