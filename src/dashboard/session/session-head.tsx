import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { baseName, dollars, short } from "../parts/figures.ts";
import { PlainText } from "../parts/text.tsx";
import { reporting } from "../parts/toasts.tsx";
import { visibleString } from "../parts/visible-text.ts";
import { FIRST_VIEW, hrefOf, pageTitle } from "../route.ts";
import { sessionViews } from "../views.ts";
import type { Draft } from "./draft.ts";
import type { Find } from "./find.ts";
import type { OpenSession } from "./open-session.ts";
import { TreeDialog } from "./tree-dialog.tsx";

interface SessionHeadProps {
	session: OpenSession;
	draft: Draft;
	find: Find;
	view: string;
}

export function SessionHead({ session, draft, find, view }: SessionHeadProps) {
	const { sessionId, changes } = session;
	const state = session.state.value;
	const { title } = session.ui.value;
	const [shown, setShown] = useState<"tree" | "name">();
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
					<button
						type="button"
						class="quiet session-name one-line"
						title="Rename this session"
						onClick={() => setShown("name")}
					>
						<PlainText text={name} most={120} />
					</button>
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
				<Tab sessionId={sessionId} name={FIRST_VIEW} title="Conversation" view={view} />
				{sessionViews.map(({ name: tab, title: words }) => (
					<Tab key={tab} sessionId={sessionId} name={tab} title={words} view={view} />
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
			{shown === "tree" && (
				<TreeDialog session={session} draft={draft} onClose={() => setShown(undefined)} />
			)}
			{shown === "name" && (
				<SessionNameDialog
					sessionId={sessionId}
					name={state?.sessionName ?? ""}
					onClose={() => setShown(undefined)}
				/>
			)}
		</div>
	);
}

interface TabProps {
	sessionId: string;
	name: string;
	title: string;
	view: string;
}

function Tab({ sessionId, name, title, view }: TabProps) {
	const href = hrefOf({ page: "session", sessionId, view: name });
	return (
		<a href={href} aria-current={view === name ? "page" : undefined}>
			{title}
		</a>
	);
}

function SessionNameDialog(props: { sessionId: string; name: string; onClose(): void }) {
	const { sessionId, name, onClose } = props;
	return (
		<Dialog title="Name of this session" onCancel={onClose}>
			<form
				class="stack"
				onSubmit={(event) => {
					event.preventDefault();
					const given = String(new FormData(event.currentTarget).get("name")).trim();
					onClose();
					if (given && given !== name) {
						void reporting(client().request("set_session_name", { sessionId, name: given }));
					}
				}}
			>
				<input name="name" aria-label="Name" defaultValue={name} maxLength={200} autofocus />
				<div class="dialog-actions row">
					<Button onClick={onClose} words="Cancel" />
					<Button type="submit" class="primary" words="Rename" />
				</div>
			</form>
		</Dialog>
	);
}
