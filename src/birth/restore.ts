import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	type ContextItem,
	type ContextLog,
	expandReferences,
	restoredResult,
	type SessionView,
	shortenedOf,
	type ToolResultItem,
	textOf,
} from "../session/index.ts";

const OWNER = "birth";

type View = Pick<SessionView, "cache" | "edits" | "ledger" | "sessionManager" | "window">;

/**
 * Bounds the restored text in the context, in tokens and as a share of the window: a compaction chose what
 * to keep by the size of short texts.
 */
const MAX_TOKENS = 20_000;
const MAX_SHARE = 0.1;

/**
 * Shows the lines of references whose results left the context, after a compaction or an edit. Such a
 * change ends the cached prefix before the reference, so this rewrites nothing that is cached. Results
 * that thinking is bound to stay, and so do the oldest if the lines of all are too many.
 */
export function restoreLines(session: View): void {
	const { cache, edits, ledger, sessionManager } = session;
	const log = ledger.log(sessionManager);
	if (cache.rules.bindsThinking) restoreRecorded(session, log.sent);
	const all = lostIn(log.items, session);
	if (all.length === 0) return;
	const branch = sessionManager.getBranch();
	const bound = cache.boundAnswer;
	const firstFree = branch.findLastIndex(({ id }) => id === bound) + 1;
	const free = new Set(branch.slice(firstFree).map(({ id }) => id));
	const lost = all.filter(({ entryId }) => free.has(entryId));
	if (lost.length === 0) return;
	const texts = expandedTexts(branch, lost);
	// The line numbers of a result change with its text, so it stays if another one that refers to it must.
	const needed = new Set<string>();
	let left = tokensLeft(log, session.window);
	for (const item of lost.toReversed()) {
		const pending = edits.get(item.entryId);
		const text = texts.get(item.entryId);
		const isOnly = ledger.onlyResultOf(item.toolCallId) === item;
		left -= estimateTokens(text?.length ?? 0);
		const isRestored = pending || (text !== undefined && isOnly && left >= 0);
		if (!isRestored || needed.has(item.toolCallId)) {
			for (const { base } of referencesOf(item)) needed.add(base);
		} else if (!pending && text !== undefined) addEdit(session, item, text);
	}
}

function tokensLeft({ restored, sent }: ContextLog, { size }: View["window"]): number {
	let left = Math.min(MAX_TOKENS, size * MAX_SHARE);
	for (const entryId of restored) left -= estimateTokens(sent.get(entryId)?.text?.length ?? 0);
	return left;
}

/** Results whose references no longer mean what they did, or will not once others are restored. */
function lostIn(items: readonly ContextItem[], { edits, ledger }: View): ToolResultItem[] {
	const calls = new Set<string>();
	const lost: ToolResultItem[] = [];
	for (const item of items) {
		if (item.kind !== "toolResult" || !isShown(item)) continue;
		const references = referencesOf(item);
		if (references.length === 0) continue;
		const { owner = OWNER } = edits.get(item.entryId) ?? {};
		if (owner !== OWNER) continue; // a stub
		if (ledger.hasItsBases(item) && !references.some(({ base }) => calls.has(base))) continue;
		calls.add(item.toolCallId);
		lost.push(item);
	}
	return lost;
}

/** The request with the restored lines, until the session has them. */
export function withRestored<Message>(messages: readonly Message[], { edits }: View) {
	return edits.applyTo(messages, OWNER);
}

/** The edits that the session does not have yet, but for targets of `others`. */
export function restoredEntries({ edits, sessionManager }: View, others: readonly unknown[]) {
	edits.settle(OWNER, sessionManager);
	const taken = new Set(others.map((entry) => property(entry, "targetId")));
	return edits
		.unsettled(OWNER, sessionManager)
		.filter(({ entryId }) => !taken.has(entryId))
		.map(({ entryId, content }) => ({
			type: "context_edit" as const,
			targetId: entryId,
			replacement: content && { content },
		}));
}

/** Edits that an answer's thinking is bound to, of a process that ended before the session had them. */
function restoreRecorded(session: View, sent: ContextLog["sent"]): void {
	for (const [entryId, content] of session.edits.recorded(OWNER, session.sessionManager)) {
		const item = sent.get(entryId);
		const [block, ...others] = content ?? [];
		if (item?.kind !== "toolResult" || !block || others.length > 0 || !isShown(item)) continue;
		if (restoredResult({ ...item, text: block.text })) addEdit(session, item, block.text);
	}
}

function addEdit({ edits }: View, item: ToolResultItem, text: string): void {
	const { entryId, toolCallId: sentAs, text: original } = item;
	if (original === undefined) return;
	edits.add({ owner: OWNER, entryId, sentAs, original, content: [{ type: "text", text }] });
}

function isShown({ text, returned }: ToolResultItem): boolean {
	return text !== undefined && text === returned;
}

function referencesOf(item: ToolResultItem) {
	return shortenedOf(item)?.references ?? [];
}

/** The texts of `wanted` with the lines that they meant when they were returned, as their hashes prove. */
function expandedTexts(
	branch: ReturnType<View["sessionManager"]["getBranch"]>,
	wanted: readonly ToolResultItem[],
): Map<string, string> {
	const results = new Map(wanted.map((item) => [item.entryId, item]));
	const stored = new Map<
		string,
		{ call: string; details: unknown; returned: string | undefined }
	>();
	/** The text of each call's result up to here; `undefined` if several share its id. */
	const texts = new Map<string, string | undefined>();
	const expanded = new Map<string, string>();
	for (const entry of branch) {
		if (entry.type === "context_edit") {
			const target = stored.get(entry.targetId);
			const text = textOf(entry.replacement?.content);
			if (target && (text === target.returned || restoredResult({ ...target, text })))
				texts.set(target.call, text);
		}
		if (entry.type !== "message" || entry.message.role !== "toolResult") continue;
		const { toolCallId: call, details } = entry.message;
		const item = results.get(entry.id);
		const full =
			item && expandReferences(item.text ?? "", referencesOf(item), (base) => texts.get(base));
		if (item && restoredResult({ ...item, text: full })) expanded.set(entry.id, full ?? "");
		const returned = textOf(entry.message.content);
		texts.set(call, texts.has(call) ? undefined : returned);
		stored.set(entry.id, { call, details, returned });
	}
	return expanded;
}
