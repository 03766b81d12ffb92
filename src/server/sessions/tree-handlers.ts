import type { SessionEntry, SessionTreeNode } from "@earendil-works/pi-coding-agent";
import { REPORT_ENTRY } from "../../core/entry-types.ts";
import { property } from "../../core/property.ts";
import type { Data } from "../../protocol/index.ts";
import { textOf } from "../../session/index.ts";
import { collapsed, plainText } from "../../text/one-line.ts";
import { asCommandError, notFound, wrongState } from "../safe-text.ts";
import type { VisibleFiles } from "./file-owners.ts";
import type { SessionHandlers } from "./held-session.ts";
import type { LiveSession } from "./live-session.ts";
import { forkSession, type PiProcesses } from "./open-session-file.ts";
import { stoppable } from "./prompt-handlers.ts";
import type { SessionTable } from "./session-table.ts";
import { refuseIfBusy } from "./state-handlers.ts";
import { checkProject } from "./stored-sessions.ts";

/** Replaces pi's session under the same server id, or moves within its tree. */
export function createTreeHandlers(
	files: Pick<VisibleFiles, "resolve" | "assertVisible">,
	table: Pick<SessionTable, "openFiles" | "claimParked">,
	{ agentDir, piProcesses }: { agentDir: string; piProcesses: PiProcesses },
) {
	return {
		...treeHandlers,
		async new_session(live, { parentSession }, { held }) {
			const isGiven = parentSession !== undefined;
			const parent =
				isGiven && (await files.resolve(parentSession, held.principal, "parentSession"));
			const given = parent ? { parentSession: parent.path } : {};
			return replace(live, "new", () => live.runtime.newSession(given));
		},
		async switch_session_file(live, { sessionPath }, { held }) {
			const file = await files.resolve(sessionPath, held.principal);
			const cwd = await checkProject(file.cwd, sessionPath);
			const pid = (await piProcesses()).get(file.path);
			await table.claimParked(held.principal, file.path);
			const visible = files.assertVisible(file, held.principal, sessionPath);
			if (visible) await visible;
			// Two pi sessions appending to one file would corrupt it.
			const owner = table.openFiles().get(file.path);
			if (owner && owner !== held) {
				throw wrongState(`sessionPath: "${sessionPath}" is open in session "${owner.sessionId}"`);
			}
			const fork = pid === undefined ? undefined : forkSession(file.path, { pid, cwd, agentDir });
			const path = fork?.file ?? file.path;
			const enter = () => live.runtime.switchSession(path);
			try {
				const result = await held.whileMovingTo(path, () =>
					replace(live, "switch", enter, [sessionPath]),
				);
				return result.cancelled ? result : { ...result, ...fork?.about };
			} finally {
				if (live.session.sessionFile !== path) fork?.discard();
			}
		},
	} satisfies Partial<SessionHandlers>;
}

const MAX_FORK_NAME = 60;

/** Names a fork after where it begins, so that lists tell it from its origin. */
function nameFork({ session, guard }: LiveSession, name: string): void {
	try {
		session.setSessionName(plainText(name, MAX_FORK_NAME));
	} catch {
		guard.checkAndReport(); // pi set the name but could not append it to the file
	}
}

const treeHandlers = {
	async fork(live, { entryId }, { held }) {
		const entry = live.session.sessionManager.getEntry(entryId);
		if (entry?.type !== "message" || entry.message.role !== "user") {
			throw notFound(`entryId: "${entryId}" is not a user message: see get_fork_messages`);
		}
		live.ensureFile();
		const result = await replace(live, "fork", () => live.runtime.fork(entryId));
		const text = result.selectedText ?? "";
		if (!result.cancelled) nameFork(live, `Fork: ${text}`);
		return { sessionId: held.sessionId, text, cancelled: result.cancelled };
	},
	async clone(live) {
		const leafId = live.session.sessionManager.getLeafId();
		if (!leafId) {
			throw wrongState("The session is empty: there is nothing to clone");
		}
		live.ensureFile();
		const { sessionName } = live.session;
		const fork = () => live.runtime.fork(leafId, { position: "at" });
		const { cancelled } = await replace(live, "clone", fork);
		if (!cancelled && sessionName) nameFork(live, `Copy: ${sessionName}`);
		return { cancelled };
	},
	async navigate_tree(live, { targetId, options }, { call }) {
		const { session, chosen } = live;
		const { sessionManager } = session;
		refuseIfBusy(session);
		if (!sessionManager.getEntry(targetId)) {
			throw notFound(`targetId: there is no entry "${targetId}"`);
		}
		if (options?.summarize) live.checkModelUse();
		const stop = () => session.abortBranchSummary();
		const { editorText, cancelled, aborted } = await stoppable(call.signal, stop, () =>
			session.navigateTree(targetId, options),
		);
		const last = sessionManager.getEntries().at(-1);
		if (last) chosen.leaf = { id: sessionManager.getLeafId(), afterEntry: last.id };
		return {
			cancelled,
			...(editorText !== undefined && { editorText }),
			...(aborted !== undefined && { aborted }),
		};
	},
	get_tree({ session: { sessionManager } }, { flat }) {
		const labelOf = (id: string) => sessionManager.getLabel(id);
		const { truncated, ...shown } = flat
			? flatTree(sessionManager.getEntries(), labelOf)
			: nestedTree(sessionManager.getTree());
		return { leafId: sessionManager.getLeafId(), ...shown, ...(truncated && { truncated }) };
	},
	get_fork_messages: ({ session }) => ({ messages: session.getUserMessagesForForking() }),
	get_entries({ session: { sessionManager } }, { since }) {
		const entries = sessionManager.getEntries();
		const from = since === undefined ? 0 : entries.findIndex(({ id }) => id === since) + 1;
		if (since !== undefined && from === 0) {
			throw notFound(`since: there is no entry "${since}"`);
		}
		return { entries: entries.slice(from), leafId: sessionManager.getLeafId() };
	},
} satisfies Partial<SessionHandlers>;

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

/** Maximum nodes in an answer. Further nodes are left out. */
export const MAX_NODES = 10_000;
/** Maximum depth: deep nesting breaks JSON parsers and pages. The flat form has no limit. */
export const MAX_DEPTH = 1000;
const MAX_PREVIEW = 400;

export function flatTree(
	entries: readonly SessionEntry[],
	labelOf: (id: string) => string | undefined,
): { nodes: Data<"FlatTreeNode">[]; truncated: boolean } {
	const nodes = entries.slice(0, MAX_NODES).map((entry) => {
		const label = labelOf(entry.id);
		const role = entry.type === "message" ? entry.message.role : undefined;
		return {
			id: entry.id,
			parentId: entry.parentId,
			type: entry.type,
			...(role && { role }),
			preview: previewOf(entry),
			timestamp: entry.timestamp,
			...(label && { label }),
		};
	});
	return { nodes, truncated: entries.length > nodes.length };
}

/** The tree in the form of pi's RPC. Not recursive, because a long conversation is a deep tree. */
export function nestedTree(roots: readonly SessionTreeNode[]) {
	const tree: Data<"TreeNode">[] = [];
	let count = 0;
	let truncated = false;
	/** Built level by level, so that truncation drops the nodes furthest from the root. */
	let level = [{ from: roots, to: tree }];
	for (let depth = 0; level.length > 0; depth++) {
		const next: typeof level = [];
		for (const { from, to } of level) {
			for (const { entry, children, label } of from) {
				if (count === MAX_NODES || depth === MAX_DEPTH) {
					truncated = true;
					break;
				}
				count++;
				const below: Data<"TreeNode">[] = [];
				to.push({ entry: entry as Data<"SessionEntry">, children: below, ...(label && { label }) });
				if (children.length > 0) next.push({ from: children, to: below });
			}
		}
		level = next;
	}
	return { tree, truncated };
}

export function previewOf(entry: SessionEntry): string {
	return collapsed(entryText(entry).slice(0, MAX_PREVIEW * 4)).slice(0, MAX_PREVIEW);
}

function entryText(entry: SessionEntry): string {
	switch (entry.type) {
		case "message":
			return contentText(entry.message);
		case "custom_message":
			return contentText(entry);
		case "compaction":
		case "branch_summary":
			return entry.summary;
		case "model_change":
			return `${entry.provider}/${entry.modelId}`;
		case "thinking_level_change":
			return entry.thinkingLevel;
		case "session_info":
			return entry.name ?? "";
		case "custom":
			return reportText(entry) ?? entry.customType;
		default:
			return "";
	}
}

/** What a command of ours answered. */
function reportText({ customType, data }: SessionEntry & { type: "custom" }): string | undefined {
	return customType === REPORT_ENTRY ? textOf(property(data, "text")) : undefined;
}

function contentText(message: unknown): string {
	const command = property(message, "command");
	if (typeof command === "string") return `$ ${command}`;
	const content = property(message, "content");
	const text = textOf(content);
	if (text !== undefined) return text;
	if (!Array.isArray(content)) return "";
	return content.map(blockText).filter(Boolean).join(" ");
}

function blockText(block: unknown): string {
	const text = property(block, "text");
	if (typeof text === "string") return text;
	if (property(block, "type") === "toolCall") return `${property(block, "name")}(…)`;
	return property(block, "type") === "image" ? "[image]" : "";
}
