import { useMemo, useState } from "preact/hooks";
import type { StoredSession } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ago, shortPath } from "../parts/figures.ts";
import { Empty, Problem } from "../parts/notices.tsx";
import { reporting } from "../parts/reporting.ts";
import { PlainText } from "../parts/text.tsx";
import { toast } from "../parts/toasts.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { FIRST_VIEW, go } from "../route.ts";
import { formatNumberOf } from "../views/format.ts";

/** The sessions that pi has files of: opens one of them. */
export function StoredDialog({ onClose }: { onClose(): void }) {
	const { data, error, refresh } = useAnswer("list_stored_sessions", {});
	const [filter, setFilter] = useState("");
	const rows = useMemo(() => rowsOf(data?.sessions ?? [], filter), [data, filter]);
	async function open({ sessionPath, sessionId }: StoredSession): Promise<void> {
		const loaded =
			sessionId === undefined
				? (await reporting(client().request("load_session", { sessionPath })))?.data
				: { sessionId };
		if (!loaded) return;
		if ("warning" in loaded && loaded.warning) toast(loaded.warning, "warning");
		go({ page: "session", sessionId: loaded.sessionId, view: FIRST_VIEW });
	}
	return (
		<Dialog title="Stored sessions" onCancel={onClose} wide>
			<input
				type="search"
				aria-label="Filter"
				placeholder="Filter by name, folder or first message"
				value={filter}
				autofocus
				onInput={(event) => setFilter(event.currentTarget.value)}
			/>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{!data && error === undefined && <Empty>Looking for sessions…</Empty>}
			{data && rows.length === 0 && (
				<Empty>{filter ? "None matches." : "There are no stored sessions."}</Empty>
			)}
			{rows.length > 0 && (
				<div class="tree">
					<VirtualList
						rows={rows}
						label="Stored sessions"
						startsAtTop
						estimate={() => 54}
						render={({ stored }) => <Stored stored={stored} onOpen={() => void open(stored)} />}
					/>
				</div>
			)}
			{data?.truncated && <p class="small soft">There are more; the latest are shown.</p>}
			<div class="dialog-actions">
				<button type="button" onClick={onClose}>
					Close
				</button>
			</div>
		</Dialog>
	);
}

function Stored({ stored, onOpen }: { stored: StoredSession; onOpen(): void }) {
	const { sessionName, firstMessage, cwd, modifiedAt, messageCount, sessionId, piProcess } = stored;
	return (
		<button type="button" class="stored quiet" onClick={onOpen}>
			<span class="stored-name">
				<PlainText text={sessionName ?? firstMessage ?? "(nothing was said)"} most={160} />
			</span>
			<span class="small soft">
				<PlainText text={shortPath(cwd)} /> · {formatNumberOf(messageCount, "message")} ·{" "}
				{ago(Date.parse(modifiedAt), Date.now())}
				{sessionId !== undefined && " · open"}
				{piProcess !== undefined && ` · open in pi (process ${piProcess})`}
			</span>
		</button>
	);
}

function rowsOf(sessions: readonly StoredSession[], filter: string) {
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	return sessions
		.filter(({ sessionName = "", firstMessage = "", cwd }) => {
			const text = `${sessionName} ${firstMessage} ${cwd}`.toLowerCase();
			return words.every((word) => text.includes(word));
		})
		.map((stored) => ({ key: stored.sessionPath, stored }));
}
