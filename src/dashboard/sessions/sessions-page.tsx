import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Data } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { ago, baseName, dollars, errorMessage, formatCount } from "../parts/figures.ts";
import { Answered, orToast } from "../parts/notices.tsx";
import { PlainText, visibleString } from "../parts/text.tsx";
import { DEFAULT_VIEW, hrefOf, navigate } from "../route.ts";
import { isDemo, MadeUp } from "../session/demo-banner.tsx";
import { firstMessagesOf } from "./first-messages.ts";
import { openStored } from "./open-stored.ts";
import { DeleteDialog, NewSessionDialog, type StartsIn, StoredDialog } from "./session-dialogs.tsx";
import { placesOf } from "./session-place.ts";

export function SessionsPage() {
	const list = useMemo(() => new SessionList(), []);
	const [shown, setShown] = useState<"new" | "stored" | Data<"SessionInfo">>();
	useEffect(() => {
		list.open();
		return () => list.close();
	}, [list]);
	const refresh = () => list.refresh();
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
						<Button onClick={() => setShown("stored")} label="Open a stored session" />
						<Button class="primary" onClick={() => setShown("new")} label="New session" />
					</span>
				)}
			</div>
			<Answered answer={{ data: sessions, error, refresh }} waiting="Loading…">
				{(known) =>
					known.length === 0 ? (
						<FirstRun startsIn={startsIn} onShow={setShown} />
					) : (
						<SessionTable sessions={known} list={list} onDelete={setShown} />
					)
				}
			</Answered>
			{shown === "new" && (
				<NewSessionDialog
					startsIn={startsIn}
					folders={foldersOf(sessions ?? [])}
					anySessionId={sessions?.[0]?.sessionId}
					onClose={close}
				/>
			)}
			{shown === "stored" && <StoredDialog onClose={close} />}
			{typeof shown === "object" && (
				<DeleteDialog
					session={shown}
					onClose={() => {
						close();
						refresh();
					}}
				/>
			)}
		</div>
	);
}

/** Folders to suggest. Demo folders are left out, because they are useless to other sessions. */
function foldersOf(sessions: readonly Data<"SessionInfo">[]): string[] {
	return [...new Set(sessions.filter((one) => !isDemo(one)).map(({ cwd }) => cwd))];
}

function FirstRun(props: { startsIn: StartsIn; onShow(dialog: "new" | "stored"): void }) {
	const { startsIn, onShow } = props;
	const [isStarting, setStarting] = useState(false);
	const stored = useAnswer("list_stored_sessions", {}).data?.sessions ?? [];
	const inTerminals = stored.filter(({ piProcess }) => piProcess !== undefined);
	async function start(): Promise<void> {
		setStarting(true);
		const created = await orToast(client().request("create_session"));
		setStarting(false);
		if (created)
			navigate({ page: "session", sessionId: created.data.sessionId, view: DEFAULT_VIEW });
	}
	return (
		<div class="card stack first-run">
			<h2>No sessions yet</h2>
			<p>
				A session is a conversation with a coding agent in a folder on the server's machine. While
				the agent works, you see what the model sees, what it costs and how much was saved.
			</p>
			<WhereItStarts startsIn={startsIn} />
			{inTerminals.map((one) => (
				<Button
					key={one.sessionPath}
					class="one-line"
					onClick={() => void openStored(one)}
					label={
						<>
							Watch the pi in a terminal: <PlainText text={watchedName(one)} max={80} />
						</>
					}
				/>
			))}
			<span class="row">
				<Button
					class="primary"
					disabled={isStarting}
					onClick={() => (startsIn ? void start() : onShow("new"))}
					label={isStarting ? "Starting…" : "Start a session"}
				/>
				<Button class="quiet" onClick={() => onShow("stored")} label="Open a stored session" />
			</span>
		</div>
	);
}

function watchedName({ sessionName, firstMessage, cwd }: Data<"StoredSession">): string {
	return sessionName ?? firstMessage ?? baseName(cwd);
}

function WhereItStarts({ startsIn }: { startsIn: StartsIn }) {
	if (!startsIn) return <p>You choose its folder. The agent uses the models set up in pi.</p>;
	if ("sample" in startsIn) {
		return (
			<p>
				This server runs a demo: a script that works on a sample project. It costs nothing and does
				not touch your files.
			</p>
		);
	}
	return (
		<p>
			It starts in <PlainText as="code" text={startsIn.folder} max={200} /> and uses the model that
			is set up in pi.
		</p>
	);
}

interface SessionTableProps {
	readonly sessions: readonly Data<"SessionInfo">[];
	readonly list: SessionList;
	onDelete(session: Data<"SessionInfo">): void;
}

function SessionTable({ sessions, list, onDelete }: SessionTableProps) {
	const placeOf = placesOf(sessions);
	return (
		<table class="card sessions">
			<thead>
				<tr>
					{["Session", "State", "Model", "Messages", "Cost", "Created"].map((title) => (
						<th key={title} scope="col" class={/Messages|Cost/.test(title) ? "right" : ""}>
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
						place={placeOf?.(session)}
						list={list}
						onDelete={onDelete}
					/>
				))}
			</tbody>
		</table>
	);
}

interface SessionLineProps extends Omit<SessionTableProps, "sessions"> {
	readonly session: Data<"SessionInfo">;
	/** The server that has it, if there are several. */
	readonly place: string | undefined;
}

function SessionLine({ session, place, list, onDelete }: SessionLineProps) {
	const { sessionId, sessionName, cwd, model, isStreaming, messageCount, createdAt } = session;
	const name = sessionName ?? baseName(cwd);
	const cost = list.costs.value.get(sessionId);
	const firstMessage = sessionName ? undefined : list.firstMessages.value.get(sessionId);
	return (
		<tr>
			<td class="session-cell">
				<a href={hrefOf({ page: "session", sessionId, view: DEFAULT_VIEW })}>
					<PlainText text={name} max={120} />
				</a>
				{firstMessage !== undefined && (
					<span class="small soft one-line">
						“<PlainText text={firstMessage} max={100} />”
					</span>
				)}
				<span class="small soft one-line" title={visibleString(cwd)}>
					<PlainText text={cwd} max={200} />
				</span>
			</td>
			<td>
				<span class="line state">
					<span class={isStreaming ? "dot is-running pulse" : "dot"} aria-hidden="true" />
					{isStreaming ? "Working" : "Idle"}
				</span>
				{place !== undefined && (
					<span class="small soft one-line" title="Server">
						<PlainText text={place} max={100} />
					</span>
				)}
			</td>
			<td>{model ? <PlainText text={`${model.provider}/${model.id}`} max={80} /> : "none"}</td>
			<td data-label="Messages" class="right number">
				{formatCount(messageCount)}
			</td>
			<td class="right number">
				<span>{cost === undefined ? "–" : dollars(cost)}</span>{" "}
				<MadeUp isShown={cost !== undefined && isDemo(session)} />
			</td>
			<td class="soft">{ago(Date.parse(createdAt), Date.now())}</td>
			<td class="right">
				<Button
					class="quiet small"
					aria-label={`Delete ${visibleString(name)}`}
					onClick={() => onDelete(session)}
					label="Delete"
				/>
			</td>
		</tr>
	);
}

const POLL_MS = 4_000;
/** Maximum number of sessions to fetch costs for. New messages in a session cause another fetch. */
const MAX_COSTS = 40;

/** The open sessions, kept up to date by events and by polling between `open` and `close`. */
class SessionList {
	/** Newest first. Undefined until they are known. */
	readonly sessions = signal<readonly Data<"SessionInfo">[] | undefined>(undefined);
	readonly costs = signal<ReadonlyMap<string, number>>(new Map());
	/** The first messages of sessions without a name, by session id. May be incomplete. */
	readonly firstMessages = signal<ReadonlyMap<string, string>>(new Map());
	/** Where a new session starts. Undefined if the user must name a folder. */
	readonly startsIn = signal<StartsIn>(undefined);
	readonly error = signal<string | undefined>(undefined);
	/** By session id: the number of messages when the cost was fetched. */
	readonly #pricedMessages = new Map<string, number>();
	readonly #lookedUp = new Set<string>();
	#stops: readonly (() => void)[] = [];
	#isInFlight = false;
	#isClosed = false;

	open(): void {
		const timer = setInterval(() => this.refresh(), POLL_MS);
		this.#stops = [
			() => clearInterval(timer),
			client().onEvent(({ type }) => {
				if (type === "session_created" || type === "session_deleted") this.refresh();
			}),
			client().onState(({ name }) => {
				if (name === "open") this.refresh();
			}),
		];
		this.refresh();
	}

	close(): void {
		this.#isClosed = true;
		for (const stop of this.#stops) stop();
	}

	refresh(): void {
		if (this.#isInFlight || client().state.name !== "open") return;
		this.#isInFlight = true;
		void this.#load().finally(() => {
			this.#isInFlight = false;
		});
	}

	async #load(): Promise<void> {
		try {
			const { data } = await client().request("list_sessions");
			if (this.#isClosed) return;
			const sessions = data.sessions.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
			this.startsIn.value = data.startsIn;
			this.sessions.value = sessions;
			this.error.value = undefined;
			await this.#loadFirstMessages(sessions);
			await this.#loadCosts(sessions);
		} catch (problem) {
			if (!this.#isClosed) this.error.value = errorMessage(problem);
		}
	}

	/** Distinguishes unnamed sessions of one folder. Each is looked up once, because the server reads files. */
	async #loadFirstMessages(sessions: readonly Data<"SessionInfo">[]): Promise<void> {
		const unknown = sessions.filter(
			({ sessionId, sessionName, messageCount }) =>
				!sessionName && messageCount > 0 && !this.#lookedUp.has(sessionId),
		);
		if (unknown.length === 0) return;
		for (const { sessionId } of unknown) this.#lookedUp.add(sessionId);
		try {
			const { data } = await client().request("list_stored_sessions", {});
			this.firstMessages.value = firstMessagesOf(data.sessions);
		} catch {
			// Without first messages, only the names of folders are shown.
		}
	}

	/** Sequential, because a request wakes a sleeping session. */
	async #loadCosts(sessions: readonly Data<"SessionInfo">[]): Promise<void> {
		for (const { sessionId, messageCount } of sessions.slice(0, MAX_COSTS)) {
			if (this.#isClosed) return;
			if (messageCount === 0 || this.#pricedMessages.get(sessionId) === messageCount) continue;
			this.#pricedMessages.set(sessionId, messageCount);
			try {
				const { data } = await client().request("get_session_stats", { sessionId });
				if (!this.#isClosed) this.costs.value = new Map(this.costs.value).set(sessionId, data.cost);
			} catch {
				// The cost is unavailable if, for example, the session's folder was deleted.
			}
		}
	}
}
