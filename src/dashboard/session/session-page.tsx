import { computed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { CommandFields, Data } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button, Dialog, DialogForm, TextButton } from "../parts/controls.tsx";
import { baseName, dollars, short } from "../parts/figures.ts";
import { Empty, Guarded, Problem, reporting, toast } from "../parts/notices.tsx";
import { LongText, PlainText, visibleString } from "../parts/text.tsx";
import { FIRST_VIEW, hrefOf, pageTitle } from "../route.ts";
import { Lazy, sessionViews } from "../views.tsx";
import { ConversationView, type Opened } from "./conversation-view.tsx";
import { type Draft, deskOf } from "./desk.ts";
import type { Question } from "./extension-ui.ts";
import { createFind } from "./find.ts";
import { type OpenSession, openSession } from "./open-session.ts";
import { rowsOf } from "./row-view.tsx";
import { TreeDialog } from "./tree-dialog.tsx";

export function SessionPage({ sessionId, view }: { sessionId: string; view: string }) {
	const [opened, setOpened] = useState<Opened>();
	useEffect(() => {
		const { draft, outbox } = deskOf(sessionId);
		const session = openSession(sessionId, {
			client: client(),
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
		return () => {
			document.title = pageTitle();
		};
	}, [name, isRunning]);
	return (
		<div class="session-head row">
			<div class="session-title line">
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
				<span class="session-figures line small soft number">
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
			<nav class="tabs line" aria-label="Views of the session">
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
				<Button class="quiet" onClick={() => setShown("tree")} words="Tree" />
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

type Response = CommandFields<"extension_ui_response">["response"];

/** The oldest open question of an extension; any client may answer it. */
function ExtensionDialog({ session }: { session: OpenSession }) {
	const [question] = session.ui.value.questions;
	if (!question) return null;
	const { requestId } = question;
	const answer = (response: Response) => {
		const { sessionId } = session;
		void reporting(client().request("extension_ui_response", { sessionId, requestId, response }));
	};
	return (
		<Dialog
			key={requestId}
			title={<PlainText text={question.title} most={300} />}
			onCancel={() => answer({ cancelled: true })}
			wide={question.method === "editor"}
		>
			<Ask question={question} answer={answer} />
		</Dialog>
	);
}

function Ask({ question, answer }: { question: Question; answer(response: Response): void }) {
	switch (question.method) {
		case "select":
			return (
				<>
					<div class="options stack">
						{question.options.map((option, at) => (
							<TextButton
								key={at}
								class=""
								autofocus={at === 0}
								onClick={() => answer({ value: option })}
								text={option}
							/>
						))}
					</div>
					<div class="dialog-actions row">
						<Button onClick={() => answer({ cancelled: true })} words="Cancel" />
					</div>
				</>
			);
		case "confirm":
			return (
				<>
					<LongText text={question.message} />
					<div class="dialog-actions row">
						<Button autofocus onClick={() => answer({ confirmed: false })} words="No" />
						<Button class="primary" onClick={() => answer({ confirmed: true })} words="Yes" />
					</div>
				</>
			);
		case "input":
			return <Write first="" placeholder={question.placeholder ?? ""} answer={answer} />;
		case "editor":
			return <Write first={question.prefill ?? ""} isLong answer={answer} />;
	}
}

interface WriteProps {
	first: string;
	placeholder?: string;
	isLong?: boolean;
	answer(response: Response): void;
}

function Write({ first, placeholder = "", isLong = false, answer }: WriteProps) {
	const [value, setText] = useState(first);
	const box = {
		value,
		autofocus: true,
		onInput: (event: { currentTarget: { value: string } }) => setText(event.currentTarget.value),
	};
	return (
		<DialogForm
			words="OK"
			onCancel={() => answer({ cancelled: true })}
			onSubmit={() => answer({ value })}
		>
			{isLong ? (
				<textarea aria-label="Text" class="mono" rows={14} {...box} />
			) : (
				<input aria-label="Answer" placeholder={placeholder} {...box} />
			)}
		</DialogForm>
	);
}
