import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Client } from "../../protocol/client.ts";
import type { Data } from "../../protocol/index.ts";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { ago, baseName, dollars, formatCount, textOf } from "../parts/figures.ts";
import { Answered, reporting } from "../parts/notices.tsx";
import { PlainText, visibleString } from "../parts/text.tsx";
import { FIRST_VIEW, go, hrefOf } from "../route.ts";
import { isDemo } from "../session/demo-banner.tsx";
import { DeleteDialog, NewSessionDialog, type StartsIn, StoredDialog } from "./session-dialogs.tsx";

export function SessionsPage() {
	const list = useMemo(() => sessionList(client()), []);
	const [shown, setShown] = useState<"new" | "stored" | { delete: Data<"SessionInfo"> }>();
	useEffect(list.follow, [list]);
	const { refresh } = list;
	const sessions = list.sessions.value;
	const startsIn = list.startsIn.value;
	const error = list.error.value;
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
			<Answered asked={{ data: sessions, error, refresh }} waiting="Asking the server…">
				{(known) =>
					known.length === 0 ? (
						<FirstRun startsIn={startsIn} onShow={setShown} />
					) : (
						<SessionTable
							sessions={known}
							list={list}
							onDelete={(session) => setShown({ delete: session })}
						/>
					)
				}
			</Answered>
			{shown === "new" && (
				<NewSessionDialog startsIn={startsIn} folders={foldersOf(sessions ?? [])} onClose={close} />
			)}
			{shown === "stored" && <StoredDialog onClose={close} />}
			{typeof shown === "object" && (
				<DeleteDialog
					session={shown.delete}
					onClose={() => {
						close();
						refresh();
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
	onShow(dialog: "new" | "stored"): void;
}

function FirstRun({ startsIn, onShow }: FirstRunProps) {
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
			<WhereItStarts startsIn={startsIn} />
			<span class="row">
				<Button
					class="primary"
					disabled={isStarting}
					onClick={() => (startsIn ? void start() : onShow("new"))}
					words={isStarting ? "Starting…" : "Start a session"}
				/>
				<Button class="quiet" onClick={() => onShow("stored")} words="or open a stored one" />
			</span>
		</div>
	);
}

function WhereItStarts({ startsIn }: { startsIn: StartsIn }) {
	if (!startsIn) return <p>You choose its folder. It uses the models that are set up in pi.</p>;
	if ("sample" in startsIn) {
		return (
			<p>
				This server runs a demo: a script on a sample project, which costs nothing and touches
				nothing of yours.
			</p>
		);
	}
	return (
		<p>
			It starts in <PlainText as="code" text={startsIn.folder} most={200} /> with the model that is
			set up in pi.
		</p>
	);
}

interface SessionTableProps {
	sessions: readonly Data<"SessionInfo">[];
	list: SessionList;
	onDelete(session: Data<"SessionInfo">): void;
}

function SessionTable({ sessions, list, onDelete }: SessionTableProps) {
	return (
		<table class="card sessions">
			<thead>
				<tr>
					<th scope="col">Session</th>
					<th scope="col">State</th>
					<th scope="col">Model</th>
					<th scope="col" class="right">
						Messages
					</th>
					<th scope="col" class="right">
						Cost
					</th>
					<th scope="col">Made</th>
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
						list={list}
						onDelete={() => onDelete(session)}
					/>
				))}
			</tbody>
		</table>
	);
}

interface SessionLineProps {
	session: Data<"SessionInfo">;
	list: SessionList;
	onDelete(): void;
}

function SessionLine({ session, list, onDelete }: SessionLineProps) {
	const { sessionId, sessionName, cwd, model, isStreaming, messageCount, createdAt } = session;
	const name = sessionName ?? baseName(cwd);
	const cost = list.costs.value.get(sessionId);
	const beginning = sessionName ? undefined : list.beginnings.value.get(sessionId);
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
			<td>
				<span class="line state">
					<span class={isStreaming ? "dot is-running pulse" : "dot"} aria-hidden="true" />
					{isStreaming ? "Working" : "Idle"}
				</span>
			</td>
			<td>{model ? <PlainText text={`${model.provider}/${model.id}`} most={80} /> : "none"}</td>
			<td data-label="Messages" class="right number">
				{formatCount(messageCount)}
			</td>
			<td class="right number">{cost === undefined ? "–" : dollars(cost)}</td>
			<td class="soft">{ago(Date.parse(createdAt), Date.now())}</td>
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

type SessionList = ReturnType<typeof sessionList>;

const EVERY_MS = 4_000;
/** Sessions whose costs are fetched, again after new messages. */
const MOST_COSTS = 40;

/** The open sessions, kept up to date. */
function sessionList(client: Client) {
	/** The newest first; undefined until they are known. */
	const sessions = signal<readonly Data<"SessionInfo">[] | undefined>(undefined);
	const costs = signal<ReadonlyMap<string, number>>(new Map());
	/** The first message of sessions without a name, as far as it is known. */
	const beginnings = signal<ReadonlyMap<string, string>>(new Map());
	/** Undefined where a new session must name its folder. */
	const startsIn = signal<StartsIn>(undefined);
	const error = signal<string | undefined>(undefined);
	/** Messages of a session when its cost was fetched. */
	const asked = new Map<string, number>();
	const sought = new Set<string>();
	let isAsking = false;
	let isClosed = false;

	return { sessions, costs, beginnings, startsIn, error, refresh, follow };

	/** Returns how to stop. */
	function follow(): () => void {
		const stops = [
			client.onEvent(({ type }) => {
				if (type === "session_created" || type === "session_deleted") refresh();
			}),
			client.onState(({ name }) => {
				if (name === "open") refresh();
			}),
		];
		const timer = setInterval(refresh, EVERY_MS);
		refresh();
		return () => {
			isClosed = true;
			clearInterval(timer);
			for (const stop of stops) stop();
		};
	}

	function refresh(): void {
		if (isAsking || client.state.name !== "open") return;
		isAsking = true;
		void ask().finally(() => {
			isAsking = false;
		});
	}

	async function ask(): Promise<void> {
		try {
			const { data } = await client.request("list_sessions");
			if (isClosed) return;
			startsIn.value = data.startsIn;
			sessions.value = data.sessions.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
			error.value = undefined;
			await askBeginnings(sessions.value);
			await askCosts(sessions.value);
		} catch (problem) {
			if (!isClosed) error.value = textOf(problem);
		}
	}

	/** Sessions of one folder look alike without a name. Files are searched once for each. */
	async function askBeginnings(list: readonly Data<"SessionInfo">[]): Promise<void> {
		const unknown = list.filter(
			({ sessionId, sessionName, messageCount }) =>
				!sessionName && messageCount > 0 && !sought.has(sessionId),
		);
		if (unknown.length === 0) return;
		for (const { sessionId } of unknown) sought.add(sessionId);
		try {
			const { data } = await client.request("list_stored_sessions", {});
			beginnings.value = new Map(
				data.sessions.flatMap(({ sessionId, firstMessage }) =>
					sessionId && firstMessage ? [[sessionId, firstMessage] as const] : [],
				),
			);
		} catch {
			// Names of folders have to do.
		}
	}

	/** One at a time: asking a session that sleeps wakes it. */
	async function askCosts(list: readonly Data<"SessionInfo">[]): Promise<void> {
		for (const { sessionId, messageCount } of list.slice(0, MOST_COSTS)) {
			if (isClosed) return;
			if (messageCount === 0 || asked.get(sessionId) === messageCount) continue;
			asked.set(sessionId, messageCount);
			try {
				const { data } = await client.request("get_session_stats", { sessionId });
				if (!isClosed) costs.value = new Map(costs.value).set(sessionId, data.cost);
			} catch {
				// A session whose folder is gone has no figures.
			}
		}
	}
}
