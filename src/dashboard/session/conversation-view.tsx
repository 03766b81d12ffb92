import { useComputed } from "@preact/signals";
import { useState } from "preact/hooks";
import { Empty } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { Composer } from "./composer.tsx";
import { DemoBanner } from "./demo-banner.tsx";
import type { Draft } from "./draft.ts";
import type { OpenSession } from "./open-session.ts";
import { type RowActions, RowView } from "./row-view.tsx";
import { estimatedHeight, rowsOf } from "./rows.ts";

/** What was said and done, and the box to say more. */
export function ConversationView({ session, draft }: { session: OpenSession; draft: Draft }) {
	const rows = useComputed(() => rowsOf(session.conversation.value.items)).value;
	const { isRunning } = session.conversation.value;
	const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
	const actions: RowActions = {
		isUnfolded: (key) => unfolded.has(key),
		toggle(key, isOpen) {
			const next = new Set(unfolded);
			if (isOpen) next.add(key);
			else next.delete(key);
			setUnfolded(next);
		},
	};
	const isLoading = session.status.value.name === "loading";
	return (
		<section class="conversation" aria-label="Conversation">
			<DemoBanner session={session} />
			{rows.length === 0 ? (
				<div class="list-frame conversation-empty">
					<Empty>{isLoading ? "Loading the conversation…" : "Nothing was said yet."}</Empty>
				</div>
			) : (
				<VirtualList
					rows={rows}
					render={(row) => <RowView row={row} actions={actions} />}
					estimate={estimatedHeight}
					label="Messages"
					isBusy={isRunning}
				/>
			)}
			<Activity session={session} />
			<Composer session={session} draft={draft} />
		</section>
	);
}

/** What is going on right now, also for those who do not see it. */
function Activity({ session }: { session: OpenSession }) {
	const { isRunning, isCompacting, waitsFor } = session.conversation.value;
	const { working } = session.ui.value;
	const words = waitsFor
		? `Waiting: ${waitsFor}`
		: isCompacting
			? "Compacting the conversation…"
			: isRunning
				? (working ?? "Working…")
				: "";
	return (
		<p class={`activity ${words ? "" : "is-idle"}`} role="status" aria-live="polite">
			{words && <span class="dot is-running pulse" aria-hidden="true" />}
			<PlainText text={words} most={300} />
		</p>
	);
}
