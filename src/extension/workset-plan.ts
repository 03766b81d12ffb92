import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import type * as Economy from "../economy/index.ts";
import { contextMessages, customMessages } from "../session/index.ts";
import type * as Tiers from "../tiers/index.ts";
import { boundAnswer } from "./bound-thinking.ts";
import { shownEdits } from "./shown-edits.ts";
import type { Draft } from "./system.ts";
import {
	MAP_NAME,
	type OpenWorkset,
	type PendingEdit,
	refreshFiles,
	type SessionHolder,
	textsNow,
	viewNow,
} from "./workset-session.ts";

/**
 * Decides what is to be done to the session before the next request; to be asked once for each. Returns the messages to
 * append; the edits are pending from now on.
 */
export function planNow(
	workset: OpenWorkset,
	ctx: ExtensionContext,
	cold: boolean,
): WorksetMessage[] {
	const { layout, tiers } = workset;
	const view = viewNow(workset, ctx);
	const files = textsNow(workset);
	if (isLiteral(workset, ctx)) {
		// Copies from before the layout was chosen: they are no longer kept up to date.
		for (const { entryId } of view.copies) holdBack(workset, ctx, entryId, null);
		return [];
	}
	if (files.length === 0 && view.copies.length === 0) return [];
	const plan = layout.decide(momentNow(workset, ctx, view, cold));
	workset.lastPlan = plan;
	workset.frontier = plan.frontier && frontierIn(workset, ctx, plan.frontier);
	const { append, edits } = tiers.changesFor(plan, { files, view });
	for (const [entryId, content] of edits) holdBack(workset, ctx, entryId, content);
	return append.map((content) => ({
		customType: WORKSET_ENTRY,
		content,
		display: false,
		details: { v: 1, id: randomUUID() },
	}));
}

/**
 * Whether requests have the literal layout. It changes what stands before the conversation, so it gives way to the log
 * where thinking is or will be bound to that.
 */
export function isLiteral(workset: OpenWorkset, ctx: ExtensionContext): boolean {
	if (workset.settings.tiers.layout !== "tiers" || rulesNow(workset, ctx).bindsThinking)
		return false;
	return boundAnswer(ctx, workset.economy.bindsThinking) === undefined;
}

/** All that is to be appended in one message, for moments at which pi takes in no more than one before the request. */
export function inOneMessage([first, ...others]: readonly WorksetMessage[]):
	| WorksetMessage
	| undefined {
	return first && { ...first, content: [first, ...others].flatMap(({ content }) => content) };
}

/** A message that holds working files. Requests know it by the id in its details. */
export interface WorksetMessage {
	customType: typeof WORKSET_ENTRY;
	content: Tiers.TextBlock[];
	display: false;
	details: { v: 1; id: string };
}

/** The end of a turn: whether it is the last of its run, and whether the next request will find a cold cache. */
export interface TurnEnd {
	readonly isLast: boolean;
	isCold(): boolean;
}

/** What is to enter the session at the end of a turn: the edits that are pending, and files that have changed. */
export async function turnEndDrafts(
	workset: OpenWorkset,
	ctx: ExtensionContext,
	{ isLast, isCold }: TurnEnd,
): Promise<Draft[]> {
	// After the last turn a prompt comes in before the next request, and until then files may change again.
	if (!isLast) await refreshFiles(workset, ctx);
	const append = isLast ? [] : planNow(workset, ctx, isCold());
	return [
		...Array.from(pendingEdits(workset, ctx), ([targetId, { content }]) => ({
			type: "context_edit" as const,
			targetId,
			replacement: content && { content },
		})),
		...append.map((message) => ({ type: "custom_message" as const, ...message })),
	];
}

function frontierIn(
	{ tiers }: OpenWorkset,
	ctx: ExtensionContext,
	{ entryId, path }: NonNullable<Tiers.LogPlan["frontier"]>,
): OpenWorkset["frontier"] {
	const messages = customMessages(ctx.sessionManager, WORKSET_ENTRY);
	const texts = messages.find((message) => message.entryId === entryId)?.texts ?? [];
	const block = path === undefined ? 0 : texts.findIndex((text) => shows(text, path));
	return block < 0 ? undefined : { messageId: messageIdOf(ctx, entryId), block };

	function shows(text: string, path: string): boolean {
		return tiers.filesIn([text])?.[0]?.path === path;
	}
}

function holdBack(
	{ pending }: OpenWorkset,
	ctx: ExtensionContext,
	entryId: string,
	content: PendingEdit["content"],
): void {
	pending.set(entryId, { messageId: messageIdOf(ctx, entryId), content });
}

/** Edits that the answers of this branch have seen in their requests are pending, if the session does not have them. */
export function holdBackShown(workset: OpenWorkset, ctx: ExtensionContext): void {
	for (const [entryId, content] of shownEdits(ctx)) {
		const type = property(ctx.sessionManager.getEntry(entryId), "customType");
		if (type !== WORKSET_ENTRY || workset.pending.has(entryId)) continue;
		holdBack(workset, ctx, entryId, content);
	}
}

/** What the message of an entry is known by in a request: the id in its details. */
function messageIdOf({ sessionManager }: ExtensionContext, entryId: string): unknown {
	return property(property(sessionManager.getEntry(entryId), "details"), "id");
}

/**
 * The edits that the session does not have yet. Another extension may have thrown them away at the end of a turn, so one
 * is done only when the session shows it, or when its message has left the context.
 */
export function pendingEdits(
	{ pending }: OpenWorkset,
	ctx: ExtensionContext,
): ReadonlyMap<string, PendingEdit> {
	if (pending.size === 0) return pending;
	const messages = customMessages(ctx.sessionManager, WORKSET_ENTRY);
	const texts = new Map(messages.map(({ entryId, texts }) => [entryId, texts]));
	for (const [entryId, { content }] of pending) {
		const shown = texts.get(entryId);
		const isDone =
			content &&
			isDeepStrictEqual(
				shown,
				content.map(({ text }) => text),
			);
		if (!shown || isDone) pending.delete(entryId);
	}
	return pending;
}

function momentNow(
	workset: OpenWorkset,
	ctx: ExtensionContext,
	{ copies }: Tiers.View,
	cold: boolean,
): Tiers.LogMoment {
	const { controller, ttl } = workset;
	const tracked = controller.items();
	const usage = ctx.getContextUsage();
	return {
		files: textsNow(workset).map(({ path, hash, tokens }) => {
			// The map stays as it is by our own decision, so nothing is more stable.
			const top = path === MAP_NAME ? ({ tier: "L0", n: tracked.size + 12 } as const) : undefined;
			const { tier = "active", n = 0 } = top ?? tracked.get(path) ?? {};
			return { path, hash, tokens, tier, n };
		}),
		copies,
		rules: rulesNow(workset, ctx),
		isBound: isBound(workset, ctx, copies[0]?.entryId),
		cold,
		contextTokens: usage?.tokens ?? conversationTokens(ctx),
		contextWindow: usage?.contextWindow || Number.MAX_SAFE_INTEGER,
		ttl,
	};
}

/** Whether thinking behind an entry is bound to it. */
function isBound(
	{ economy }: OpenWorkset,
	ctx: ExtensionContext,
	entryId: string | undefined,
): boolean {
	const bound = boundAnswer(ctx, economy.bindsThinking);
	if (bound === undefined || entryId === undefined) return false;
	const branch = ctx.sessionManager.getBranch();
	const placeOf = (id: string) => branch.findIndex((entry) => entry.id === id);
	return placeOf(entryId) < placeOf(bound);
}

/** How the provider in use caches. */
export function rulesNow(
	{ economy }: OpenWorkset,
	{ model }: ExtensionContext,
): Economy.CacheRules {
	return economy.rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

/** A rough size of the conversation. */
export function conversationTokens({ sessionManager }: SessionHolder): number {
	return contextMessages(sessionManager).reduce((sum, { tokens }) => sum + tokens, 0);
}
