import "./replay.css";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { FileDrop } from "./file-drop.tsx";
import { ReplayReportView } from "./replay-report.tsx";
import { StoredSessions } from "./stored-sessions.tsx";
import { useReplay } from "./use-replay.ts";

/** What a session of pi cost, and would have cost otherwise: of a file that is dropped here, or of a stored one. */
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
						<button type="button" class="small" onClick={stop}>
							Stop
						</button>
					</p>
				)}
			</div>
			{state.name === "failed" && <Problem text={state.why} />}
			{state.name === "done" && <ReplayReportView report={state.report} file={state.file} />}
			<StoredSessions isBusy={isBusy} onPick={replayStored} />
		</div>
	);
}
