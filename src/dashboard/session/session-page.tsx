import { computed, type ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { SessionEvent } from "../../protocol/index.ts";
import { client, onServerEvent } from "../connection/connection.ts";
import { Lazy } from "../parts/lazy.tsx";
import { Empty, Guarded, Problem } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";
import { toast } from "../parts/toasts.tsx";
import { FIRST_VIEW, hrefOf } from "../route.ts";
import { sessionViews } from "../views.ts";
import { ConversationView } from "./conversation-view.tsx";
import { type Desk, deskOf } from "./desk.ts";
import type { Draft } from "./draft.ts";
import { ExtensionDialog } from "./extension-dialog.tsx";
import { createFind, type Find } from "./find.ts";
import { type OpenSession, openSession } from "./open-session.ts";
import { type Row, rowsOf } from "./rows.ts";
import { SessionHead } from "./session-head.tsx";

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
	const { session, draft, find } = opened;
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
				<SessionHead session={session} draft={draft} find={find} view={view} />
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
function showMoment(event: SessionEvent, draft: Draft): void {
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
