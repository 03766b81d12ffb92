import { CommandError } from "../engine/call.ts";
import { asCommandError } from "../safe-text.ts";
import type { LiveSession } from "./live-session.ts";
import { checkProject } from "./session-files.ts";
import { forkSession, type PiProcesses } from "./session-fork.ts";
import type { SessionHandlers } from "./session-handler.ts";
import { flatTree, nestedTree } from "./session-tree.ts";
import type { Slot } from "./slot.ts";
import type { Slots } from "./slots.ts";
import type { StoredFiles } from "./stored-files.ts";

type TreeCommand =
	| "new_session"
	| "switch_session_file"
	| "fork"
	| "clone"
	| "navigate_tree"
	| "get_tree"
	| "get_fork_messages"
	| "get_entries";

/** Moving within a session's tree, and putting another session of pi behind the server's id. */
export function createTreeHandlers(
	files: Pick<StoredFiles, "find" | "check">,
	slots: Pick<Slots, "openFiles">,
	{ agentDir, piProcesses }: { agentDir: string; piProcesses: PiProcesses },
): SessionHandlers<TreeCommand> {
	return {
		async new_session(live, { parentSession }, { slot }) {
			const parent =
				parentSession === undefined
					? undefined
					: await files.find(parentSession, slot.principal, "parentSession");
			return replace(live, "new", () =>
				live.runtime.newSession({ ...(parent && { parentSession: parent.path }) }),
			);
		},
		async switch_session_file(live, { sessionPath }, { slot }) {
			const file = await files.find(sessionPath, slot.principal);
			const cwd = await checkProject(file.cwd, sessionPath);
			const pid = (await piProcesses()).get(file.path);
			files.check(file, slot.principal, sessionPath);
			refuseIfOpen(file.path, sessionPath, slot);
			const fork =
				pid === undefined ? undefined : forkSession({ file: file.path, pid, cwd, agentDir });
			const path = fork?.file ?? file.path;
			const enter = () => live.runtime.switchSession(path);
			try {
				const result = await slot.moving(path, () => replace(live, "switch", enter, [sessionPath]));
				return result.cancelled ? result : { ...result, ...fork?.about };
			} finally {
				if (live.session.sessionFile !== path) fork?.discard();
			}
		},
		async fork(live, { entryId }, { slot }) {
			const entry = live.session.sessionManager.getEntry(entryId);
			if (entry?.type !== "message" || entry.message.role !== "user") {
				throw new CommandError(
					"not_found",
					`entryId: "${entryId}" is no message of the user: see get_fork_messages`,
				);
			}
			live.ensureFile();
			const result = await replace(live, "fork", () => live.runtime.fork(entryId));
			const text = result.selectedText ?? "";
			return { sessionId: slot.sessionId, text, cancelled: result.cancelled };
		},
		async clone(live) {
			const leafId = live.session.sessionManager.getLeafId();
			if (!leafId) {
				throw new CommandError("wrong_state", "The session has nothing yet that could be cloned");
			}
			live.ensureFile();
			const { cancelled } = await replace(live, "clone", () =>
				live.runtime.fork(leafId, { position: "at" }),
			);
			return { cancelled };
		},
		async navigate_tree(live, { targetId, options }, { call }) {
			const { session, chosen } = live;
			const { sessionManager } = session;
			if (session.isStreaming || session.isCompacting) {
				throw new CommandError("wrong_state", "The session is busy: wait for it, or abort first");
			}
			if (!sessionManager.getEntry(targetId)) {
				throw new CommandError("not_found", `targetId: there is no entry "${targetId}"`);
			}
			if (options?.summarize) live.checkModelUse();
			const stop = () => session.abortBranchSummary();
			call.signal.addEventListener("abort", stop, { once: true });
			try {
				const { editorText, cancelled, aborted } = await session.navigateTree(targetId, options);
				const last = sessionManager.getEntries().at(-1);
				if (last) chosen.leaf = { id: sessionManager.getLeafId(), afterEntry: last.id };
				return {
					cancelled,
					...(editorText !== undefined && { editorText }),
					...(aborted !== undefined && { aborted }),
				};
			} catch (error) {
				throw asCommandError(error);
			} finally {
				call.signal.removeEventListener("abort", stop);
			}
		},
		get_tree({ session: { sessionManager } }, { flat }) {
			const leafId = sessionManager.getLeafId();
			if (!flat) {
				const { tree, truncated } = nestedTree(sessionManager.getTree());
				return { leafId, tree, ...(truncated && { truncated }) };
			}
			const labelOf = (id: string) => sessionManager.getLabel(id);
			const { nodes, truncated } = flatTree(sessionManager.getEntries(), labelOf);
			return { leafId, nodes, ...(truncated && { truncated }) };
		},
		get_fork_messages: ({ session }) => ({ messages: session.getUserMessagesForForking() }),
		get_entries({ session: { sessionManager } }, { since }) {
			const entries = sessionManager.getEntries();
			const from = since === undefined ? 0 : entries.findIndex(({ id }) => id === since) + 1;
			if (since !== undefined && from === 0) {
				throw new CommandError("not_found", `since: there is no entry "${since}"`);
			}
			return { entries: entries.slice(from), leafId: sessionManager.getLeafId() };
		},
	};

	/** Two pi sessions that append to one file would ruin it. */
	function refuseIfOpen(path: string, given: string, slot: Slot): void {
		const owner = slots.openFiles().get(path);
		if (!owner || owner === slot) return;
		throw new CommandError(
			"wrong_state",
			`sessionPath: "${given}" is open as session "${owner.sessionId}"`,
		);
	}
}

async function replace<Result extends { cancelled: boolean }>(
	live: LiveSession,
	reason: Parameters<LiveSession["replacing"]>[0],
	action: () => Promise<Result>,
	given: readonly string[] = [],
): Promise<Result> {
	try {
		const result = await live.replacing(reason, action);
		if (!result.cancelled) delete live.chosen.leaf;
		return result;
	} catch (error) {
		throw asCommandError(error, "failed", given);
	}
}
