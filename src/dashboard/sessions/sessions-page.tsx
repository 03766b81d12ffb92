import { useEffect, useState } from "preact/hooks";
import type { SessionInfo } from "../../protocol/index.ts";
import { client, onServerEvent } from "../connection/connection.ts";
import { isDemo } from "../demo.ts";
import { Empty, Problem } from "../parts/notices.tsx";
import { reporting } from "../parts/reporting.ts";
import { FIRST_VIEW, go } from "../route.ts";
import { DeleteDialog } from "./delete-dialog.tsx";
import { NewSessionDialog } from "./new-session-dialog.tsx";
import { SessionTable } from "./session-table.tsx";
import { followSessions, type SessionList } from "./sessions.ts";
import { StoredDialog } from "./stored-dialog.tsx";

/** The sessions of the server, and ways to more of them. */
export function SessionsPage() {
	const [list, setList] = useState<SessionList>();
	const [shown, setShown] = useState<"new" | "stored" | { delete: SessionInfo }>();
	useEffect(() => {
		const followed = followSessions({ client: client(), onServerEvent });
		setList(followed);
		return () => followed.close();
	}, []);
	const sessions = list?.sessions.value;
	const error = list?.error.value;
	const close = () => setShown(undefined);
	return (
		<div class="sheet">
			<div class="sheet-head">
				<h1>Sessions</h1>
				{sessions && sessions.length > 0 && (
					<span class="row">
						<button type="button" onClick={() => setShown("stored")}>
							Open a stored one
						</button>
						<button type="button" class="primary" onClick={() => setShown("new")}>
							New session
						</button>
					</span>
				)}
			</div>
			{error !== undefined && <Problem text={error} onRetry={() => list?.refresh()} />}
			{!sessions && error === undefined && <Empty>Asking the server…</Empty>}
			{sessions?.length === 0 && <FirstRun onStored={() => setShown("stored")} />}
			{sessions && sessions.length > 0 && (
				<SessionTable
					sessions={sessions}
					costs={list?.costs.value ?? new Map()}
					beginnings={list?.beginnings.value ?? new Map()}
					onDelete={(session) => setShown({ delete: session })}
				/>
			)}
			{shown === "new" && (
				<NewSessionDialog isDemo={sessions?.some(isDemo) ?? false} onClose={close} />
			)}
			{shown === "stored" && <StoredDialog onClose={close} />}
			{typeof shown === "object" && (
				<DeleteDialog
					session={shown.delete}
					onClose={() => {
						close();
						list?.refresh();
					}}
				/>
			)}
		</div>
	);
}

/** What somebody sees who comes for the first time. */
function FirstRun({ onStored }: { onStored(): void }) {
	const [isStarting, setStarting] = useState(false);
	async function start(): Promise<void> {
		setStarting(true);
		const made = await reporting(client().request("create_session"));
		setStarting(false);
		if (made) go({ page: "session", sessionId: made.data.sessionId, view: FIRST_VIEW });
	}
	return (
		<div class="card first-run">
			<h2>Nothing runs yet</h2>
			<p>
				A session is a conversation with a coding agent in a folder of this machine. While it works
				you see what the model sees, what that costs, and what was saved.
			</p>
			<p>
				It starts in the folder of the server, with the model that is set up in pi. If there is
				none, a demo takes its place, unless it is switched off: a script on a sample project, which
				costs nothing and touches nothing of yours.
			</p>
			<span class="row">
				<button type="button" class="primary" disabled={isStarting} onClick={() => void start()}>
					{isStarting ? "Starting…" : "Start a session"}
				</button>
				<button type="button" class="quiet" onClick={onStored}>
					or open a stored one
				</button>
			</span>
		</div>
	);
}
