import { computed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { CommandFields, Data } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button, TextButton } from "../parts/controls.tsx";
import { Dialog, DialogForm } from "../parts/dialog.tsx";
import { baseName, dollars, short } from "../parts/figures.ts";
import { Empty, ErrorBoundary, orToast, Problem, toast } from "../parts/notices.tsx";
import { LongText, PlainText, visibleString } from "../parts/text.tsx";
import { DEFAULT_VIEW, hrefOf, pageTitle, route } from "../route.ts";
import { Lazy, sessionViews } from "../views.tsx";
import { composerStateOf, type Draft } from "./composer-state.ts";
import { ConversationSearch } from "./conversation-search.ts";
import { ConversationView, type OpenedSession } from "./conversation-view.tsx";
import { isDemo, MadeUp } from "./demo-banner.tsx";
import type { Question } from "./extension-ui.ts";
import { OpenSession } from "./open-session.ts";
import { rowsOf } from "./row-view.tsx";
import { TreeDialog } from "./tree-dialog.tsx";
import { Watched } from "./watched.tsx";

export function SessionPage({ sessionId, view }: { sessionId: string; view: string }) {
	const [opened, setOpened] = useState<OpenedSession>();
	useEffect(() => {
		const { draft, attachments, outbox } = composerStateOf(sessionId);
		const session = new OpenSession(sessionId, {
			client: client(),
			onUiRequest: (event) => showRequest(event, draft),
			isConversationShown: () => {
				const shown = route.peek();
				return shown.page === "session" && shown.view === DEFAULT_VIEW;
			},
			shell: outbox.shell,
			onNextFrame,
		});
		const rows = computed(() => {
			const { items, isRunning } = session.conversation.value;
			return rowsOf(items, isRunning);
		});
		const search = new ConversationSearch(rows, { onNextFrame, now: () => performance.now() });
		setOpened({ session, draft, attachments, outbox, rows, search });
		return () => {
			search.close();
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
					Session “<PlainText text={sessionId} />” no longer exists.{" "}
					<a href={hrefOf({ page: "sessions" })}>All sessions</a>
				</p>
			</div>
		);
	}
	return (
		<>
			<ErrorBoundary>
				<SessionHead opened={opened} view={view} />
			</ErrorBoundary>
			{status.name === "failed" && (
				<Problem
					text={`Could not load the session: ${status.why}`}
					onRetry={() => session.reload()}
				/>
			)}
			<ErrorBoundary key={view}>
				<View opened={opened} view={view} />
			</ErrorBoundary>
			<ExtensionDialog session={session} />
		</>
	);
}

function View({ opened, view }: { opened: OpenedSession; view: string }) {
	if (view === DEFAULT_VIEW) return <Conversation {...opened} />;
	const found = sessionViews.find(({ name }) => name === view);
	if (!found) return <Empty>This view does not exist.</Empty>;
	const { sessionId, changes, conversation, state } = opened.session;
	return (
		<section class="sheet" aria-label={found.title}>
			<Lazy load={found.load} props={{ sessionId, changes, conversation, state }} />
		</section>
	);
}

function Conversation(opened: OpenedSession) {
	return (
		<Watched session={opened.session}>
			<ConversationView {...opened} />
		</Watched>
	);
}

function showRequest(event: Data<"SessionEvent">, draft: Draft): void {
	if (event.type !== "extension_ui_request") return;
	if (event.method === "notify") toast(event.message, event.notifyType ?? "info");
	if (event.method === "set_editor_text") draft.prepend(event.text);
}

/** Maximum wait for a frame, because a background tab has no frames. */
const FRAME_TIMEOUT_MS = 250;

/** Calls `work` before the next frame, or after a timeout. Returns a function that cancels it. */
function onNextFrame(work: () => void): () => void {
	const cancel = () => {
		cancelAnimationFrame(frame);
		clearTimeout(timer);
	};
	const run = () => {
		cancel();
		work();
	};
	const frame = requestAnimationFrame(run);
	const timer = setTimeout(run, FRAME_TIMEOUT_MS);
	return cancel;
}

function SessionHead({ opened, view }: { opened: OpenedSession; view: string }) {
	const { session, draft, search } = opened;
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
						max={120}
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
							title={`${short(usage.tokens ?? 0)} of ${short(usage.contextWindow)} tokens: as billed for the last request, plus an estimate of newer messages`}
						>
							{usage.tokens === 0 ? (
								"nothing sent yet"
							) : (
								<>
									<span class="roomy-text">{short(usage.tokens ?? 0)} tokens, </span>
									{Math.round(usage.percent)} % of the window
								</>
							)}
						</span>
					)}
					{stats && (
						<span title="Total cost, as counted by pi">
							{dollars(stats.cost)} <MadeUp isShown={state !== undefined && isDemo(state)} />
						</span>
					)}
				</span>
			</div>
			<nav class="tabs line" aria-label="Session views">
				{[{ name: DEFAULT_VIEW, title: "Conversation" }, ...sessionViews].map((tab) => (
					<a
						key={tab.name}
						href={hrefOf({ page: "session", sessionId, view: tab.name })}
						data-text={tab.title}
						aria-current={view === tab.name ? "page" : undefined}
					>
						{tab.title}
					</a>
				))}
				<Button class="quiet" onClick={() => setShown("tree")} label="Tree" />
				{/* Last, and it keeps its place in the other views, so that nothing jumps. */}
				<Button
					class={view === DEFAULT_VIEW ? "quiet" : "quiet is-absent"}
					disabled={view !== DEFAULT_VIEW}
					title="Find in the conversation (Ctrl+F, ⌘F)"
					aria-keyshortcuts="Control+F Meta+F"
					onClick={() => search.open()}
					label="Find"
				/>
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
		void orToast(client().request("set_session_name", { sessionId, name: given }));
	}
	return (
		<Dialog title="Rename session" onCancel={onClose}>
			<DialogForm label="Rename" onCancel={onClose} onSubmit={rename}>
				<input name="name" aria-label="Name" defaultValue={name} maxLength={200} autofocus />
			</DialogForm>
		</Dialog>
	);
}

type Answer = (response: CommandFields<"extension_ui_response">["response"]) => void;

/** Shows the oldest open question of an extension. Any client may answer it. */
function ExtensionDialog({ session }: { session: OpenSession }) {
	const [question] = session.ui.value.questions;
	if (!question) return null;
	const { requestId } = question;
	const answer: Answer = (response) => {
		const { sessionId } = session;
		void orToast(client().request("extension_ui_response", { sessionId, requestId, response }));
	};
	return (
		<Dialog
			key={requestId}
			title={<PlainText text={question.title} max={300} />}
			onCancel={() => answer({ cancelled: true })}
			wide={question.method === "editor"}
		>
			<QuestionForm question={question} answer={answer} />
		</Dialog>
	);
}

function QuestionForm({ question, answer }: { question: Question; answer: Answer }) {
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
						<Button onClick={() => answer({ cancelled: true })} label="Cancel" />
					</div>
				</>
			);
		case "confirm":
			return (
				<>
					<LongText text={question.message} />
					<div class="dialog-actions row">
						<Button autofocus onClick={() => answer({ confirmed: false })} label="No" />
						<Button class="primary" onClick={() => answer({ confirmed: true })} label="Yes" />
					</div>
				</>
			);
		case "input":
		case "editor":
			return <TextAnswer question={question} answer={answer} />;
	}
}

type TextQuestion = Extract<Question, { method: "input" | "editor" }>;

function TextAnswer({ question, answer }: { question: TextQuestion; answer: Answer }) {
	const [value, setText] = useState(question.method === "editor" ? (question.prefill ?? "") : "");
	const box = {
		value,
		autofocus: true,
		onInput: (event: { currentTarget: { value: string } }) => setText(event.currentTarget.value),
	};
	return (
		<DialogForm
			label="OK"
			onCancel={() => answer({ cancelled: true })}
			onSubmit={() => answer({ value })}
		>
			{question.method === "editor" ? (
				<textarea aria-label="Text" class="mono" rows={14} {...box} />
			) : (
				<input aria-label="Answer" placeholder={question.placeholder ?? ""} {...box} />
			)}
		</DialogForm>
	);
}
