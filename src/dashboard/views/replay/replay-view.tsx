import "./replay.css";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { MAX_UPLOAD } from "../../../text/upload-size.ts";
import { client } from "../../connection/connection.ts";
import { Button } from "../../parts/controls.tsx";
import { useDraggedFiles } from "../../parts/dragged-files.ts";
import { errorMessage } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { route } from "../../route.ts";
import { ReplayReportView } from "./replay-report.tsx";
import { sendFile } from "./send-file.ts";
import { nameOf, SessionFiles } from "./session-files.tsx";

export function ReplayView() {
	const { state, replayFile, replayFound, replayOpen, stop } = useReplay();
	const shown = route.value;
	const sessionId = shown.page === "replay" ? shown.sessionId : undefined;
	useEffect(() => {
		if (sessionId !== undefined) replayOpen(sessionId);
	}, [sessionId]);
	const outcome = useRef<HTMLDivElement>(null);
	// It is above the list, which may be long.
	useEffect(() => {
		if (state.name !== "idle") outcome.current?.scrollIntoView({ block: "nearest" });
	}, [state]);
	return (
		<div class="sheet view">
			<h1>Replay</h1>
			<p class="soft">
				Shows what the requests of a session cost, why some missed the cache, and what they would
				have cost under other context policies. The session file is sent only to your own server.
			</p>
			<FileDrop onFile={replayFile} />
			<div role="status" ref={outcome}>
				{state.name === "running" && (
					<p class="notice">
						Replaying <PlainText text={state.file} max={200} />… Long sessions take a few seconds.{" "}
						<Button class="small" onClick={stop} label="Stop" />
					</p>
				)}
			</div>
			{state.name === "failed" && <Problem text={state.why} />}
			{state.name === "done" && <ReplayReportView report={state.report} file={state.file} />}
			<SessionFiles onPick={replayFound} />
		</div>
	);
}

/** Accepts a file dropped anywhere on the page. */
function FileDrop({ onFile }: { onFile(file: File): void }) {
	const id = useId();
	const [isOver, setIsOver] = useState(false);
	useDraggedFiles({ onOver: setIsOver, onDrop: onFile });
	return (
		<section class={`file-drop stack ${isOver ? "is-over" : ""}`} aria-label="Session file">
			<p>
				<label for={id}>Drop a session file here, or choose one</label>
			</p>
			<input
				id={id}
				type="file"
				onChange={(event) => {
					const file = event.currentTarget.files?.[0];
					// Cleared, so that choosing the same file again fires `change`.
					event.currentTarget.value = "";
					if (file) onFile(file);
				}}
			/>
			<p class="soft small">
				Of pi, Claude Code, Codex, opencode (export or database) or Gemini CLI, up to{" "}
				{MAX_UPLOAD / 2 ** 20} MiB
			</p>
		</section>
	);
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

	async function run(file: string, work: (signal: AbortSignal) => Promise<Data<"ReplayReport">>) {
		running.current?.abort();
		const own = new AbortController();
		running.current = own;
		setState({ name: "running", file });
		let next: ReplayState;
		try {
			next = { name: "done", file, report: await work(own.signal) };
		} catch (error) {
			next = { name: "failed", why: errorMessage(error) };
		}
		if (!own.signal.aborted) setState(next);
	}

	return {
		state,
		replayFile: (file: File) => run(file.name, (signal) => sendFile(file, signal)),
		replayFound: (file: Data<"SessionFile">) =>
			run(nameOf(file), async (signal) => {
				const { fileId } = file;
				return (await client().request("replay_session", { fileId }, { signal })).data;
			}),
		replayOpen: (sessionId: string) =>
			run("this session", async (signal) => {
				const { sessionFile } = (await client().request("get_state", { sessionId })).data;
				if (sessionFile === undefined) {
					throw new Error("The session has no file yet: it has no answered request");
				}
				const fields = { sessionPath: sessionFile };
				return (await client().request("replay_session", fields, { signal })).data;
			}),
		stop() {
			running.current?.abort();
			setState({ name: "idle" });
		},
	};
}
