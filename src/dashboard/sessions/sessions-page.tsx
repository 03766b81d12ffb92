import { useEffect, useState } from "preact/hooks";
import type { SessionInfo } from "../../protocol/index.ts";
import { client, onServerEvent } from "../connection/connection.ts";
import { isDemo } from "../demo.ts";
import { Empty, Problem } from "../parts/notices.tsx";
import { reporting } from "../parts/reporting.ts";
import { PlainText } from "../parts/text.tsx";
import { FIRST_VIEW, go } from "../route.ts";
import { DeleteDialog } from "./delete-dialog.tsx";
import { NewSessionDialog } from "./new-session-dialog.tsx";
import { SessionTable } from "./session-table.tsx";
import { followSessions, type SessionList, type StartsIn } from "./sessions.ts";
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
	const startsIn = list?.startsIn.value;
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
			{sessions?.length === 0 && (
				<FirstRun
					startsIn={startsIn}
					onNew={() => setShown("new")}
					onStored={() => setShown("stored")}
				/>
			)}
			{sessions && sessions.length > 0 && (
				<SessionTable
					sessions={sessions}
					costs={list?.costs.value ?? new Map()}
					beginnings={list?.beginnings.value ?? new Map()}
					onDelete={(session) => setShown({ delete: session })}
				/>
			)}
			{shown === "new" && (
				<NewSessionDialog startsIn={startsIn} folders={foldersOf(sessions ?? [])} onClose={close} />
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

/** Where the sessions work, each folder once. Those of the demo are of no use to others. */
function foldersOf(sessions: readonly SessionInfo[]): string[] {
	return [...new Set(sessions.filter((one) => !isDemo(one)).map(({ cwd }) => cwd))];
}

interface FirstRunProps {
	startsIn: StartsIn;
	/** Asks for a folder first. */
	onNew(): void;
	onStored(): void;
}

/** What somebody sees who comes for the first time. */
function FirstRun({ startsIn, onNew, onStored }: FirstRunProps) {
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
				<WhereItStarts startsIn={startsIn} />
			</p>
			<span class="row">
				<button
					type="button"
					class="primary"
					disabled={isStarting}
					onClick={startsIn ? () => void start() : onNew}
				>
					{isStarting ? "Starting…" : "Start a session"}
				</button>
				<button type="button" class="quiet" onClick={onStored}>
					or open a stored one
				</button>
			</span>
		</div>
	);
}

function WhereItStarts({ startsIn }: { startsIn: StartsIn }) {
	if (!startsIn) return <>You choose its folder. It uses the models that are set up in pi.</>;
	if ("sample" in startsIn) {
		return (
			<>
				This server runs a demo: a script on a sample project, which costs nothing and touches
				nothing of yours.
			</>
		);
	}
	return (
		<>
			It starts in{" "}
			<code>
				<PlainText text={startsIn.folder} most={200} />
			</code>{" "}
			with the model that is set up in pi.
		</>
	);
}
