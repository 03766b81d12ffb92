import { useEffect, useState } from "preact/hooks";
import type { Data } from "../../protocol/index.ts";
import { client, onServerEvent } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { ago, baseName, dollars, formatCount } from "../parts/figures.ts";
import { Empty, Problem } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";
import { reporting } from "../parts/toasts.tsx";
import { visibleString } from "../parts/visible-text.ts";
import { FIRST_VIEW, go, hrefOf } from "../route.ts";
import { isDemo } from "../session/demo-banner.tsx";
import { DeleteDialog, NewSessionDialog, StoredDialog } from "./session-dialogs.tsx";
import { followSessions, type SessionList, type StartsIn } from "./sessions.ts";

export function SessionsPage() {
	const [list, setList] = useState<SessionList>();
	const [shown, setShown] = useState<"new" | "stored" | { delete: Data<"SessionInfo"> }>();
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
			<div class="sheet-head row">
				<h1>Sessions</h1>
				{sessions && sessions.length > 0 && (
					<span class="row">
						<Button onClick={() => setShown("stored")} words="Open a stored one" />
						<Button class="primary" onClick={() => setShown("new")} words="New session" />
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

/** Folders of the demo are of no use to other sessions. */
function foldersOf(sessions: readonly Data<"SessionInfo">[]): string[] {
	return [...new Set(sessions.filter((one) => !isDemo(one)).map(({ cwd }) => cwd))];
}

interface FirstRunProps {
	startsIn: StartsIn;
	onNew(): void;
	onStored(): void;
}

function FirstRun({ startsIn, onNew, onStored }: FirstRunProps) {
	const [isStarting, setStarting] = useState(false);
	async function start(): Promise<void> {
		setStarting(true);
		const made = await reporting(client().request("create_session"));
		setStarting(false);
		if (made) go({ page: "session", sessionId: made.data.sessionId, view: FIRST_VIEW });
	}
	return (
		<div class="card stack first-run">
			<h2>Nothing runs yet</h2>
			<p>
				A session is a conversation with a coding agent in a folder of this machine. While it works
				you see what the model sees, what that costs, and what was saved.
			</p>
			<p>
				<WhereItStarts startsIn={startsIn} />
			</p>
			<span class="row">
				<Button
					class="primary"
					disabled={isStarting}
					onClick={startsIn ? () => void start() : onNew}
					words={isStarting ? "Starting…" : "Start a session"}
				/>
				<Button class="quiet" onClick={onStored} words="or open a stored one" />
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
			It starts in <PlainText as="code" text={startsIn.folder} most={200} /> with the model that is
			set up in pi.
		</>
	);
}

const COLUMNS = [
	["Session"],
	["State"],
	["Model"],
	["Messages", "right"],
	["Cost", "right"],
	["Made"],
] as const;

interface SessionTableProps {
	sessions: readonly Data<"SessionInfo">[];
	costs: ReadonlyMap<string, number>;
	beginnings: ReadonlyMap<string, string>;
	onDelete(session: Data<"SessionInfo">): void;
}

function SessionTable({ sessions, costs, beginnings, onDelete }: SessionTableProps) {
	return (
		<table class="sessions">
			<thead>
				<tr>
					{COLUMNS.map(([title, own]) => (
						<th key={title} scope="col" class={own}>
							{title}
						</th>
					))}
					<th scope="col">
						<span class="hidden-text">Actions</span>
					</th>
				</tr>
			</thead>
			<tbody>
				{sessions.map((session) => (
					<SessionLine
						key={session.sessionId}
						session={session}
						cost={costs.get(session.sessionId)}
						beginning={session.sessionName ? undefined : beginnings.get(session.sessionId)}
						onDelete={() => onDelete(session)}
					/>
				))}
			</tbody>
		</table>
	);
}

interface SessionLineProps {
	session: Data<"SessionInfo">;
	cost: number | undefined;
	beginning: string | undefined;
	onDelete(): void;
}

function SessionLine({ session, cost, beginning, onDelete }: SessionLineProps) {
	const { sessionId, sessionName, cwd, model, isStreaming, messageCount, createdAt } = session;
	const name = sessionName ?? baseName(cwd);
	return (
		<tr>
			<td class="session-cell">
				<a href={hrefOf({ page: "session", sessionId, view: FIRST_VIEW })}>
					<PlainText text={name} most={120} />
				</a>
				{beginning !== undefined && (
					<span class="small soft one-line">
						“<PlainText text={beginning} most={100} />”
					</span>
				)}
				<span class="small soft one-line" title={visibleString(cwd)}>
					<PlainText text={cwd} most={200} />
				</span>
			</td>
			<td data-label="State">
				<span class="row state">
					<span class={isStreaming ? "dot is-running pulse" : "dot"} aria-hidden="true" />
					{isStreaming ? "Working" : "Idle"}
				</span>
			</td>
			<td data-label="Model">
				{model ? <PlainText text={`${model.provider}/${model.id}`} most={80} /> : "none"}
			</td>
			<td data-label="Messages" class="right number">
				{formatCount(messageCount)}
			</td>
			<td data-label="Cost" class="right number">
				{cost === undefined ? "–" : dollars(cost)}
			</td>
			<td data-label="Made" class="soft">
				{ago(Date.parse(createdAt), Date.now())}
			</td>
			<td class="right">
				<Button
					class="quiet small"
					aria-label={`Delete ${visibleString(name)}`}
					onClick={onDelete}
					words="Delete"
				/>
			</td>
		</tr>
	);
}
