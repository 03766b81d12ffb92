import { randomUUID } from "node:crypto";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import {
	contextMessages,
	customMessages,
	editId,
	type SessionHolder,
	type SessionView,
} from "../session/index.ts";
import {
	blockOf,
	copyText,
	droppedText,
	type FileText,
	filesIn,
	SLOT_INTRO,
	type TextBlock,
	type View,
} from "./copy-text.ts";
import type { LogMoment, LogPlan } from "./log/layout.ts";
import { MAP_NAME, OWNER, viewNow, type Workset } from "./workset.ts";

/** Call this once per request. Returns the messages to append; edits become pending. */
export function planNow(workset: Workset, session: SessionView): WorksetMessage[] {
	const view = viewNow(session);
	const files = workset.texts();
	if (isLiteral(workset, session)) {
		// Removes outdated copies from before the switch to this layout.
		for (const { entryId } of view.copies) addPendingEdit(session, entryId, null);
		return [];
	}
	if (files.length === 0 && view.copies.length === 0) return [];
	const plan = workset.layout.decide(momentNow(workset, session, view));
	workset.lastPlan = plan;
	workset.frontier = plan.frontier && frontierIn(session, plan.frontier);
	const { append, edits } = changesFor(plan, files, view);
	for (const [entryId, content] of edits) addPendingEdit(session, entryId, content);
	return append.map(messageWith);
}

/** The literal layout changes the prefix, so the log layout is used if thinking is bound. */
export function isLiteral({ settings }: Workset, { cache }: SessionView): boolean {
	if (settings.tiers.layout !== "tiers" || cache.rules.bindsThinking) return false;
	return cache.boundAnswer === undefined;
}

/** Merges messages, for when pi accepts only one message before the request. */
export function inOneMessage([first, ...others]: readonly WorksetMessage[]) {
	return first && { ...first, content: [first, ...others].flatMap(({ content }) => content) };
}

type WorksetMessage = ReturnType<typeof messageWith>;

/** Requests identify the message by the id in its details. */
function messageWith(content: TextBlock[]) {
	return {
		customType: WORKSET_ENTRY,
		content,
		display: false,
		details: { v: 1, id: randomUUID() },
	};
}

/** Appends no files after the last turn of a run (`isLast`), since they may change before the next prompt. */
export async function turnEndEntries(workset: Workset, session: SessionView, isLast: boolean) {
	if (!isLast) await workset.refreshFiles(session);
	const append = isLast ? [] : planNow(workset, session);
	session.edits.settle(OWNER, session.sessionManager);
	return [
		...session.edits.unsettled(OWNER, session.sessionManager).map(({ entryId, content }) => ({
			type: "context_edit" as const,
			targetId: entryId,
			replacement: content && { content },
		})),
		...append.map((message) => ({ type: "custom_message" as const, ...message })),
	];
}

function frontierIn(
	{ sessionManager }: SessionView,
	{ entryId, path }: NonNullable<LogPlan["frontier"]>,
): Workset["frontier"] {
	const messages = customMessages(sessionManager, WORKSET_ENTRY);
	const texts = messages.find((message) => message.entryId === entryId)?.texts ?? [];
	const shows = (text: string) => filesIn([text])?.[0]?.path === path;
	const block = path === undefined ? 0 : texts.findIndex(shows);
	return block < 0 ? undefined : { messageId: sentAs(sessionManager, entryId), block };
}

function addPendingEdit(
	{ edits, sessionManager }: SessionView,
	entryId: string,
	content: TextBlock[] | null,
): void {
	edits.add({ owner: OWNER, entryId, sentAs: sentAs(sessionManager, entryId), content });
}

/** Restores edits that the model has seen on this branch but the session lacks. */
export function restorePendingEdits(session: SessionView): void {
	const { edits, sessionManager } = session;
	for (const [entryId, content] of edits.recorded(OWNER, sessionManager)) {
		const type = property(sessionManager.getEntry(entryId), "customType");
		if (type === WORKSET_ENTRY) addPendingEdit(session, entryId, content);
	}
}

function sentAs(sessionManager: SessionView["sessionManager"], entryId: string): string {
	const entry = sessionManager.getEntry(entryId);
	const [customType, details] = [property(entry, "customType"), property(entry, "details")];
	return editId({ role: "custom", customType, details }) ?? "";
}

function momentNow(workset: Workset, session: SessionView, { copies }: View): LogMoment {
	const { cache, window } = session;
	const tracked = workset.controller.items();
	return {
		files: workset.texts().map(({ path, hash, tokens }) => {
			// The map changes only when we decide so, which makes it the most stable item.
			const top = path === MAP_NAME ? ({ tier: "L0", n: tracked.size + 12 } as const) : undefined;
			const { tier = "active", n = 0 } = top ?? tracked.get(path) ?? {};
			return { path, hash, tokens, tier, n };
		}),
		copies,
		rules: cache.rules,
		isBound: isBound(session, copies[0]?.entryId),
		cold: cache.coldness.cold,
		contextTokens: window.tokens ?? conversationTokens(session),
		contextWindow: window.size,
		ttl: cache.ttl,
	};
}

function isBound({ cache, sessionManager }: SessionView, entryId: string | undefined): boolean {
	const bound = cache.boundAnswer;
	if (bound === undefined || entryId === undefined) return false;
	const branch = sessionManager.getBranch();
	const placeOf = (id: string) => branch.findIndex((entry) => entry.id === id);
	return placeOf(entryId) < placeOf(bound);
}

export function conversationTokens({ sessionManager }: SessionHolder): number {
	return contextMessages(sessionManager).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Returns the messages and edits for a plan; `null` removes an entry. Announces a dropped file once. */
export function changesFor(plan: LogPlan, files: readonly FileText[], view: View) {
	const byPath = new Map(files.map((file) => [file.path, file]));
	const append: TextBlock[][] = [];
	const edits = new Map<string, TextBlock[] | null>(plan.drop.map((entryId) => [entryId, null]));
	if (plan.slot) {
		const { entryId, paths } = plan.slot;
		// Omits `replaces`, so that unchanged copies keep their bytes.
		const texts = textsOf(paths).map((file) => copyText(file));
		const content = [SLOT_INTRO, ...texts].map(blockOf);
		if (entryId === undefined) append.push(content);
		else edits.set(entryId, content);
	}
	for (const file of textsOf(plan.append)) {
		append.push([blockOf(copyText(file, view.newest.get(file.path)))]);
	}
	const left = [...view.newest.keys()].filter((path) => !byPath.has(path) && staysInView(path));
	if (left.length > 0) append.push([blockOf(droppedText(left))]);
	return { append, edits };

	function textsOf(paths: readonly string[]): FileText[] {
		return paths.flatMap((path) => byPath.get(path) ?? []);
	}

	/** Files whose copies are all removed need no announcement. */
	function staysInView(path: string): boolean {
		const holders = view.copies.filter((copy) => copy.files.some((file) => file.path === path));
		return holders.some(({ entryId }) => !edits.has(entryId));
	}
}
