import { useMemo, useState } from "preact/hooks";
import type { ResponseData } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { ago, formatNumberOf } from "../parts/figures.ts";
import { Answered, Empty, orToast } from "../parts/notices.tsx";
import { type Picture, PictureDialog } from "../parts/picture.tsx";
import { PlainText } from "../parts/text.tsx";
import { useAction } from "../parts/use-action.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import { DEFAULT_VIEW, hrefOf, navigate } from "../route.ts";
import { conversationOf } from "../session/conversation.ts";
import { DEMO_PROVIDER } from "../session/demo-banner.tsx";
import type { RowActions } from "../session/row-parts.tsx";
import { estimatedHeight, RowView, rowsOf } from "../session/row-view.tsx";

/** A stored session, read from its file. Its folder and its model may be gone; nothing can be sent. */
export function StoredPage({ path }: { path: string }) {
	const answer = useAnswer("get_stored_session", { sessionPath: path });
	return (
		<section class="conversation" aria-label="Stored session">
			<Answered answer={answer} waiting="Loading the session…">
				{(data) => <Stored data={data} />}
			</Answered>
		</section>
	);
}

type ReadSession = ResponseData["get_stored_session"];

function Stored({ data }: { data: ReadSession }) {
	const { stored, truncated, skipped } = data;
	const [picture, setPicture] = useState<Picture>();
	const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
	const rows = useMemo(() => {
		const idle = { isStreaming: false, isCompacting: false };
		return rowsOf(conversationOf(data, idle).items);
	}, [data]);
	const actions: RowActions = {
		isUnfolded: (key) => unfolded.has(key),
		toggle(key, isOpen) {
			const next = new Set(unfolded);
			if (isOpen) next.add(key);
			else next.delete(key);
			setUnfolded(next);
		},
		showPicture: setPicture,
		reload() {},
		costHref: hrefOf({ page: "replay" }),
		hasMadeUpPrices: data.entries.some(({ message }) => isDemoAnswer(message)),
	};
	const { run, attributes } = useAction();
	async function open(): Promise<void> {
		const { sessionPath } = stored;
		const opened = await orToast(client().request("load_session", { sessionPath }));
		if (!opened) return;
		navigate({ page: "session", sessionId: opened.data.sessionId, view: DEFAULT_VIEW });
	}
	return (
		<>
			<div class="session-head row">
				<div class="session-title line">
					<h1 class="one-line">
						<PlainText
							text={stored.sessionName ?? stored.firstMessage ?? "Stored session"}
							max={120}
						/>
					</h1>
					<span class="soft small session-folder one-line">
						<PlainText text={stored.cwd} max={200} />
					</span>
				</div>
				<Button {...attributes} onClick={() => void run(open)} label="Open to continue" />
			</div>
			<div class="banner row is-warning" role="status">
				<p>
					<strong>Read-only.</strong> {formatNumberOf(stored.messageCount, "message")}, last changed{" "}
					{ago(Date.parse(stored.modifiedAt), Date.now())}.
					{skipped > 0 && ` ${formatNumberOf(skipped, "line")} of the file cannot be read.`}
					{truncated && " The file is too long: only its beginning is shown."}
				</p>
			</div>
			{rows.length === 0 ? (
				<div class="list-frame conversation-empty">
					<Empty>The file has no messages.</Empty>
				</div>
			) : (
				<VirtualList
					rows={rows}
					label="Messages"
					estimate={estimatedHeight}
					render={(row) => <RowView row={row} actions={actions} />}
				/>
			)}
			{picture && <PictureDialog picture={picture} onClose={() => setPicture(undefined)} />}
		</>
	);
}

function isDemoAnswer(message: unknown): boolean {
	return (message as { provider?: unknown } | undefined)?.provider === DEMO_PROVIDER;
}
