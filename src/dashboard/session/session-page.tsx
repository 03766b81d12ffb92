import { computed, type ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Data } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client, onServerEvent } from "../connection/connection.ts";
import { Button, Dialog, DialogForm, TextButton } from "../parts/controls.tsx";
import { baseName, dollars, short } from "../parts/figures.ts";
import { Empty, Guarded, Problem } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";
import { reporting, toast } from "../parts/toasts.tsx";
import { visibleString } from "../parts/visible-text.ts";
import { FIRST_VIEW, hrefOf, pageTitle } from "../route.ts";
import { Lazy, sessionViews } from "../views.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { type Desk, type Draft, deskOf } from "./desk.ts";
import { ExtensionDialog } from "./extension-dialog.tsx";
import { createFind, type Find } from "./find.ts";
import { type OpenSession, openSession } from "./open-session.ts";
import { type Row, rowsOf } from "./rows.ts";
import { TreeDialog } from "./tree-dialog.tsx";

interface Opened extends Desk {
	session: OpenSession;
	rows: ReadonlySignal<readonly Row[]>;
	find: Find;
}

export function SessionPage({ sessionId, view }: { sessionId: string; view: string }) {
	const [opened, setOpened] = useState<Opened>();
	useEffect(() => {
		const { draft, outbox } = deskOf(sessionId);
		const session = openSession(sessionId, {
			client: client(),
			onServerEvent,
			onMoment: (event) => showMoment(event, draft),
			shell: outbox.shell,
			soon,
		});
		const rows = computed(() => rowsOf(session.conversation.value.items));
		const find = createFind(rows, { soon, now: () => performance.now() });
		setOpened({ session, draft, outbox, rows, find });
		return () => {
			find.close();
			session.close();
		};
	}, [sessionId]);
	if (!opened) return null;
	const { session } = opened;
	const status = session.status.value;
	if (status.name === "gone") {
		return (
			<div class="sheet">
				<p>
					There is no session “<PlainText text={sessionId} />” any more.{" "}
					<a href={hrefOf({ page: "sessions" })}>All sessions</a>
				</p>
			</div>
		);
	}
	return (
		<>
			<Guarded>
				<SessionHead opened={opened} view={view} />
			</Guarded>
			{status.name === "failed" && (
				<Problem text={`The session cannot be shown: ${status.why}`} onRetry={session.reload} />
			)}
			<Guarded key={view}>
				<View opened={opened} view={view} />
			</Guarded>
			<ExtensionDialog session={session} />
		</>
	);
}

function View({ opened, view }: { opened: Opened; view: string }) {
	if (view === FIRST_VIEW) return <ConversationView {...opened} />;
	const found = sessionViews.find(({ name }) => name === view);
	if (!found) return <Empty>There is no view of this name.</Empty>;
	const { sessionId, changes } = opened.session;
	return (
		<section class="sheet" aria-label={found.title}>
			<Lazy load={found.load} props={{ sessionId, changes }} />
		</section>
	);
}

/** Shows what an extension sends once: a notice, or text for the prompt box. */
function showMoment(event: Data<"SessionEvent">, draft: Draft): void {
	if (event.type !== "extension_ui_request") return;
	if (event.method === "notify") toast(event.message, event.notifyType ?? "info");
	if (event.method === "set_editor_text") draft.place(event.text);
}

/** A background tab has no frames. */
const HIDDEN_MS = 250;

/** Calls back before the next frame, or a little later without one. Returns how to cancel. */
function soon(work: () => void): () => void {
	const cancel = () => {
		cancelAnimationFrame(frame);
		clearTimeout(timer);
	};
	const run = () => {
		cancel();
		work();
	};
	const frame = requestAnimationFrame(run);
	const timer = setTimeout(run, HIDDEN_MS);
	return cancel;
}

function SessionHead({ opened, view }: { opened: Opened; view: string }) {
	const { session, draft, find } = opened;
	const { sessionId, changes } = session;
	const state = session.state.value;
	const { title } = session.ui.value;
	const [shown, setShown] = useState<"tree" | "name">();
	const close = () => setShown(undefined);
	const stats = useAnswer("get_session_stats", { sessionId }, changes.value).data;
	const usage = stats?.contextUsage;
	const name = state?.sessionName ?? title ?? (state ? baseName(state.cwd) : sessionId);
	const { isRunning } = session.conversation.value;
	useEffect(() => {
		document.title = pageTitle(visibleString(name), isRunning);
	}, [name, isRunning]);
	useEffect(
		() => () => {
			document.title = pageTitle();
		},
		[],
	);
	return (
		<div class="session-head">
			<div class="session-title">
				<h1>
					<TextButton
						class="quiet session-name one-line"
						title="Rename this session"
						onClick={() => setShown("name")}
						text={name}
						most={120}
					/>
				</h1>
				{state && (
					<span class="soft small session-folder one-line" title={visibleString(state.cwd)}>
						<PlainText text={state.cwd} />
					</span>
				)}
				<span class="session-figures small soft number">
					{usage?.percent != null && (
						<span
							title={`${short(usage.tokens ?? 0)} of ${short(usage.contextWindow)} tokens, by the last bill and what came since; the Context view estimates each piece by its length`}
						>
							{Math.round(usage.percent)} % of the window
						</span>
					)}
					{stats && <span title="What pi counted for all answers">{dollars(stats.cost)}</span>}
				</span>
			</div>
			<nav class="tabs" aria-label="Views of the session">
				{[{ name: FIRST_VIEW, title: "Conversation" }, ...sessionViews].map((tab) => (
					<a
						key={tab.name}
						href={hrefOf({ page: "session", sessionId, view: tab.name })}
						aria-current={view === tab.name ? "page" : undefined}
					>
						{tab.title}
					</a>
				))}
				{view === FIRST_VIEW && (
					<Button
						class="quiet"
						title="Find in the conversation (Ctrl+F, ⌘F)"
						aria-keyshortcuts="Control+F Meta+F"
						onClick={find.open}
						words="Find"
					/>
				)}
				<Button class="quiet tree-button" onClick={() => setShown("tree")} words="Tree" />
			</nav>
			{shown === "tree" && <TreeDialog session={session} draft={draft} onClose={close} />}
			{shown === "name" && (
				<SessionNameDialog sessionId={sessionId} name={state?.sessionName ?? ""} onClose={close} />
			)}
		</div>
	);
}

function SessionNameDialog(props: { sessionId: string; name: string; onClose(): void }) {
	const { sessionId, name, onClose } = props;
	function rename(data: FormData): void {
		const given = String(data.get("name")).trim();
		onClose();
		if (!given || given === name) return;
		void reporting(client().request("set_session_name", { sessionId, name: given }));
	}
	return (
		<Dialog title="Name of this session" onCancel={onClose}>
			<DialogForm words="Rename" onCancel={onClose} onSubmit={rename}>
				<input name="name" aria-label="Name" defaultValue={name} maxLength={200} autofocus />
			</DialogForm>
		</Dialog>
	);
}
