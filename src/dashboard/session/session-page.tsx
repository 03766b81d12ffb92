import { useEffect, useState } from "preact/hooks";
import { client, onServerEvent } from "../connection/connection.ts";
import { Guarded } from "../parts/guarded.tsx";
import { Lazy } from "../parts/lazy.tsx";
import { Empty, Problem } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";
import { FIRST_VIEW, hrefOf } from "../route.ts";
import { sessionViews } from "../views.ts";
import { ConversationView } from "./conversation-view.tsx";
import { createDraft, type Draft } from "./draft.ts";
import { ExtensionDialog } from "./extension-dialog.tsx";
import { type OpenSession, openSession } from "./open-session.ts";
import { SessionHead } from "./session-head.tsx";
import { showMoment } from "./show-moment.ts";
import { soon } from "./soon.ts";

/** A session: its head, and the conversation or another of its views. */
export function SessionPage({ sessionId, view }: { sessionId: string; view: string }) {
	const [opened, setOpened] = useState<{ session: OpenSession; draft: Draft }>();
	useEffect(() => {
		const draft = createDraft();
		const session = openSession(sessionId, {
			client: client(),
			onServerEvent,
			onMoment: (event) => showMoment(event, draft),
			soon,
		});
		setOpened({ session, draft });
		return () => session.close();
	}, [sessionId]);
	if (!opened) return null;
	const { session, draft } = opened;
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
				<SessionHead session={session} draft={draft} view={view} />
			</Guarded>
			{status.name === "failed" && (
				<Problem text={`The session cannot be shown: ${status.why}`} onRetry={session.reload} />
			)}
			<Guarded key={view}>
				<View session={session} draft={draft} view={view} />
			</Guarded>
			<ExtensionDialog session={session} />
		</>
	);
}

function View({ session, draft, view }: { session: OpenSession; draft: Draft; view: string }) {
	if (view === FIRST_VIEW) {
		return <ConversationView session={session} draft={draft} />;
	}
	const found = sessionViews.find(({ name }) => name === view);
	if (!found) return <Empty>There is no view of this name.</Empty>;
	const { sessionId, changes } = session;
	return (
		<section class="sheet" aria-label={found.title}>
			<Lazy load={found.load} props={{ sessionId, changes }} />
		</section>
	);
}
