import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../protocol/index.ts";
import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Answered, Empty, orToast } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";
import { useAction } from "../parts/use-action.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import { openBeside } from "../sessions/open-stored.ts";
import type { ComposerProps } from "./composer.tsx";

type TreeDialogProps = Pick<ComposerProps, "session" | "draft"> & { onClose(): void };

export function TreeDialog({ session, draft, onClose }: TreeDialogProps) {
	const { sessionId } = session;
	const [isAll, setAll] = useState(false);
	const answer = useAnswer("get_tree", { sessionId, flat: true }, session.changes.value);
	const { data } = answer;
	const rows = useMemo(
		() => treeRows(data?.nodes ?? [], data?.leafId ?? null, isAll),
		[data, isAll],
	);
	const { isRunning } = session.conversation.value;
	const isWatched = session.state.value?.watched !== undefined;

	async function act(
		work: Promise<{ data: { cancelled: boolean; editorText?: string; text?: string } }>,
	): Promise<boolean> {
		const result = await orToast(work);
		if (!result || result.data.cancelled) return false;
		// The text of a user's message returns to the prompt box.
		const said = result.data.editorText ?? result.data.text;
		if (said) draft.prepend(said);
		void session.reload();
		onClose();
		return true;
	}
	const { run, attributes } = useAction();
	const goTo = (targetId: string) =>
		act(client().request("navigate_tree", { sessionId, targetId }));
	async function fork(entryId: string): Promise<void> {
		const before = session.state.peek();
		if (!(await act(client().request("fork", { sessionId, entryId })))) return;
		await openBeside(before);
	}

	return (
		<Dialog title="Session tree" onCancel={onClose} wide>
			<p class="small soft">
				“Go here” continues the session from that entry and keeps the other branches. “Fork” copies
				what comes before that message into a new session and continues there; the message is in the
				prompt box, to be changed.
				{isWatched
					? " This session runs in a terminal: to use them, work on a copy."
					: isRunning && " To use them, stop the run first."}
			</p>
			<Answered answer={answer} waiting="Loading…">
				{() => rows.length === 0 && <Empty>No messages yet.</Empty>}
			</Answered>
			{rows.length > 0 && (
				<div class="tree">
					<VirtualList
						rows={rows}
						label="Entries"
						estimate={() => 32}
						render={(row) => (
							<TreeEntry
								row={row}
								isBusy={isRunning || isWatched}
								attributes={attributes}
								onGo={(id) => void run(() => goTo(id))}
								onFork={(id) => void run(() => fork(id))}
							/>
						)}
					/>
				</div>
			)}
			{data?.truncated && <p class="small soft">The tree is too long to show in full.</p>}
			<div class="dialog-actions row">
				<label class="row">
					<input
						type="checkbox"
						checked={isAll}
						onChange={(event) => setAll(event.currentTarget.checked)}
					/>
					Show all entries
				</label>
				<Button onClick={onClose} label="Close" />
			</div>
		</Dialog>
	);
}

interface TreeEntryProps {
	readonly row: TreeRow;
	readonly isBusy: boolean;
	readonly attributes: ReturnType<typeof useAction>["attributes"];
	onGo(id: string): void;
	onFork(id: string): void;
}

function TreeEntry({ row, isBusy, attributes, onGo, onFork }: TreeEntryProps) {
	const button = (label: string, act: (id: string) => void) => (
		<Button
			class="small quiet"
			disabled={isBusy}
			{...attributes}
			onClick={() => act(row.key)}
			label={label}
		/>
	);
	return (
		<div class={`tree-row line ${row.isOnBranch ? "is-on-branch" : ""}`}>
			<span style={{ flex: "none", width: `${Math.min(row.depth, 12) * 14}px` }} />
			<span class="tree-who small">{row.who}</span>
			<span class="one-line grow">
				{row.label !== undefined && (
					<strong>
						<PlainText text={row.label} max={60} />{" "}
					</strong>
				)}
				<PlainText text={row.preview} max={140} />
			</span>
			{row.isLeaf ? <span class="small soft">you are here</span> : button("Go here", onGo)}
			{row.canFork && button("Fork", onFork)}
		</div>
	);
}

type Node = Data<"FlatTreeNode">;
type TreeRow = ReturnType<typeof treeRows>[number];

const MAIN_TYPES: ReadonlySet<string> = new Set(["message", "compaction", "branch_summary"]);
const SECONDARY_ROLES: ReadonlySet<string> = new Set(["toolResult", "system"]);

/** The rows of a tree, depth first. Among siblings, the current branch is last. */
export function treeRows(nodes: readonly Node[], leafId: string | null, isAll: boolean) {
	const byId = new Map(nodes.map((node) => [node.id, node]));
	const onBranch = new Set<string>();
	for (let id = leafId; id !== null && !onBranch.has(id); id = byId.get(id)?.parentId ?? null) {
		onBranch.add(id);
	}
	// A node without a known parent is treated as a root.
	const children = Map.groupBy(nodes, ({ parentId }) =>
		parentId !== null && byId.has(parentId) ? parentId : null,
	);
	const rows = [];
	const stack = reversed(children.get(null), onBranch).map((node) => ({ node, depth: 0 }));
	const seen = new Set<string>();
	for (let next = stack.pop(); next; next = stack.pop()) {
		const { node, depth } = next;
		if (seen.has(node.id)) continue;
		seen.add(node.id);
		const isLeaf = node.id === leafId;
		if (isAll || isLeaf || isMain(node)) {
			rows.push({
				key: node.id,
				/** The number of branch points above this entry. */
				depth,
				who: whoOf(node),
				preview: node.preview,
				label: node.label,
				isOnBranch: onBranch.has(node.id),
				isLeaf,
				canFork: node.type === "message" && node.role === "user",
			});
		}
		const below = reversed(children.get(node.id), onBranch);
		const deeper = below.length > 1 ? depth + 1 : depth;
		for (const child of below) stack.push({ node: child, depth: deeper });
	}
	return rows;
}

/** Siblings in reverse order, for a stack: the current branch is first, so it is popped last. */
function reversed(nodes: readonly Node[] = [], onBranch: ReadonlySet<string>) {
	const inUse = nodes.filter(({ id }) => onBranch.has(id));
	const others = nodes.filter(({ id }) => !onBranch.has(id));
	return [...inUse, ...others.reverse()];
}

function isMain({ type, role, label }: Node): boolean {
	return label !== undefined || (MAIN_TYPES.has(type) && !SECONDARY_ROLES.has(role ?? ""));
}

function whoOf({ type, role = type }: Node): string {
	return ROLE_NAMES.get(role) ?? role.replaceAll("_", " ");
}

const ROLE_NAMES: ReadonlyMap<string, string> = new Map([
	["user", "You"],
	["assistant", "Model"],
	["toolResult", "Result"],
	["bashExecution", "Shell"],
	["compaction", "Compaction"],
	["branch_summary", "Summary"],
	["model_change", "Model set"],
	["thinking_level_change", "Thinking"],
	["session_info", "Name"],
	["context_edit", "Edit"],
	["custom", "Note"],
	["custom_message", "Note"],
]);
