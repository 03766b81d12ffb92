import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Empty, Problem } from "../parts/notices.tsx";
import { reporting } from "../parts/reporting.ts";
import { PlainText } from "../parts/text.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { Draft } from "./draft.ts";
import type { OpenSession } from "./open-session.ts";
import { type TreeRow, treeRows } from "./tree-rows.ts";

interface TreeDialogProps {
	session: OpenSession;
	draft: Draft;
	onClose(): void;
}

/** The tree of a session: every branch that was ever taken. Goes to a place in it, or forks there. */
export function TreeDialog({ session, draft, onClose }: TreeDialogProps) {
	const { sessionId } = session;
	const [isAll, setAll] = useState(false);
	const { data, error, refresh } = useAnswer(
		"get_tree",
		{ sessionId, flat: true },
		session.changes.value,
	);
	const rows = useMemo(() => data && treeRows(data.nodes ?? [], data.leafId, isAll), [data, isAll]);
	const { isRunning } = session.conversation.value;

	async function act(
		work: Promise<{ data: { cancelled: boolean; editorText?: string; text?: string } }>,
	): Promise<void> {
		const answer = await reporting(work);
		if (!answer || answer.data.cancelled) return;
		// Back at something the user said means to say it anew.
		const said = answer.data.editorText ?? answer.data.text;
		if (said) draft.place(said);
		session.reload();
		onClose();
	}

	return (
		<Dialog title="Tree of the session" onCancel={onClose} wide>
			<p class="small soft">
				“Go here” continues the session from that place; the other branches stay. “Fork” copies the
				session up to that message into a new file and goes on there.
				{isRunning && " Stop the run first."}
			</p>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{!rows && error === undefined && <Empty>Loading…</Empty>}
			{rows?.length === 0 && <Empty>Nothing was said yet.</Empty>}
			{rows && rows.length > 0 && (
				<div class="tree">
					<VirtualList
						rows={rows}
						label="Entries"
						estimate={() => 32}
						render={(row) => (
							<TreeEntry
								row={row}
								isBusy={isRunning}
								onGo={() => act(client().request("navigate_tree", { sessionId, targetId: row.id }))}
								onFork={() => act(client().request("fork", { sessionId, entryId: row.id }))}
							/>
						)}
					/>
				</div>
			)}
			{data?.truncated && <p class="small soft">The tree is longer than what is shown.</p>}
			<div class="dialog-actions">
				<label class="row">
					<input
						type="checkbox"
						checked={isAll}
						onChange={(event) => setAll(event.currentTarget.checked)}
					/>
					All entries
				</label>
				<button type="button" onClick={onClose}>
					Close
				</button>
			</div>
		</Dialog>
	);
}

interface TreeEntryProps {
	row: TreeRow;
	isBusy: boolean;
	onGo(): Promise<void>;
	onFork(): Promise<void>;
}

function TreeEntry({ row, isBusy, onGo, onFork }: TreeEntryProps) {
	return (
		<div class={`tree-row ${row.isOnBranch ? "is-on-branch" : ""}`}>
			<span class="tree-indent" style={{ width: `${Math.min(row.depth, 12) * 14}px` }} />
			<span class="tree-who small">{row.who}</span>
			<span class="tree-words">
				{row.label !== undefined && (
					<strong>
						<PlainText text={row.label} most={60} />{" "}
					</strong>
				)}
				<PlainText text={row.preview} most={140} />
			</span>
			{row.isLeaf ? (
				<span class="tree-here small soft">you are here</span>
			) : (
				<button type="button" class="small quiet" disabled={isBusy} onClick={() => void onGo()}>
					Go here
				</button>
			)}
			{row.canFork && (
				<button type="button" class="small quiet" disabled={isBusy} onClick={() => void onFork()}>
					Fork
				</button>
			)}
		</div>
	);
}
