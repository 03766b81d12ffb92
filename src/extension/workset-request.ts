import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import type * as Tiers from "../tiers/index.ts";
import { isLiteral, pendingEdits, rulesNow } from "./workset-plan.ts";
import { type OpenWorkset, textsNow } from "./workset-session.ts";

/**
 * A request's messages with what the session cannot show by itself: edits that no turn has ended for yet, and files at
 * the end, or tiers at the beginning. `undefined` where there is nothing to change.
 */
export function withWorkset<Message extends { role: string }>(
	workset: OpenWorkset,
	messages: readonly Message[],
	ctx: ExtensionContext,
): Message[] | undefined {
	const edited = withPending(workset, messages, ctx);
	workset.beforeFrontier = blockBeforeFrontier(workset, messages, edited);
	workset.prefix = [];
	const sent = isLiteral(workset, ctx)
		? withPrefix(workset, edited, ctx)
		: withTail(workset, edited, ctx);
	return sent === messages ? undefined : [...sent];
}

/** Changes what an Anthropic request caches to what will be there the next time. */
export function withMarkers(workset: OpenWorkset, payload: unknown): object | undefined {
	const { tiers, prefix, hasTail, tailTag, beforeFrontier } = workset;
	if (prefix.length > 0) return tiers.withTierMarkers(payload, prefix);
	const moved = hasTail ? tiers.withMarkerBeforeTail(payload, tailTag) : undefined;
	const added = beforeFrontier && tiers.withMarkerOnBlock(moved ?? payload, beforeFrontier);
	return added ?? moved;
}

/**
 * A message is found by its id. Where several have it, none can be identified, and their edits wait for the turn's
 * end; unless by then thinking will be bound to them as they are.
 */
function withPending<Message>(
	workset: OpenWorkset,
	messages: readonly Message[],
	ctx: ExtensionContext,
): readonly Message[] {
	const edits = pendingEdits(workset, ctx);
	if (edits.size === 0) return messages;
	const byId = new Map(Array.from(edits.values(), (edit) => [edit.messageId, edit]));
	const ours = messages.filter(isOurs);
	const known = Map.groupBy(ours, idOf);
	if (rulesNow(workset, ctx).bindsThinking) {
		for (const [entryId, { messageId }] of edits) {
			if ((known.get(messageId)?.length ?? 0) > 1) workset.pending.delete(entryId);
		}
	}
	return messages.flatMap((message) => {
		const id = idOf(message);
		const [only, ...others] = known.get(id) ?? [];
		const edit = byId.get(id);
		if (message !== only || others.length > 0 || !edit) return [message];
		return edit.content ? [{ ...message, content: edit.content }] : [];
	});
}

/** The last block before the frontier that the request still has. `undefined` where it cannot be told. */
function blockBeforeFrontier<Message>(
	{ frontier }: OpenWorkset,
	messages: readonly Message[],
	edited: readonly Message[],
): Tiers.BlockName | undefined {
	if (!frontier) return undefined;
	const isFrontier = (message: unknown) => isOurs(message) && idOf(message) === frontier.messageId;
	const at = messages.findIndex(isFrontier);
	if (at < 0) return undefined;
	if (frontier.block > 0) {
		const text = textsOf(edited.find(isFrontier))[frontier.block - 1];
		return text === undefined ? undefined : { text };
	}
	const before = messages.slice(0, at).findLast((message) => edited.includes(message));
	if (property(before, "role") === "toolResult") {
		return { toolCallId: String(property(before, "toolCallId")) };
	}
	const text = textsOf(before).at(-1);
	return text ? { text } : undefined;
}

function isOurs(message: unknown): boolean {
	const isCustom = property(message, "role") === "custom";
	return isCustom && property(message, "customType") === WORKSET_ENTRY;
}

function idOf(message: unknown): unknown {
	return property(property(message, "details"), "id");
}

function textsOf(message: unknown): string[] {
	const content = property(message, "content");
	if (!Array.isArray(content)) return [String(content)];
	return content.map((block) => String(property(block, "text")));
}

/**
 * Puts files at the end that the request does not show as they are. Not where the answer's thinking would be bound to
 * them, for the next request has no such tail: there, files that change are appended to the session alone.
 */
function withTail<Message>(
	workset: OpenWorkset,
	messages: readonly Message[],
	ctx: ExtensionContext,
): readonly Message[] {
	const { tiers, tailTag } = workset;
	const shown = messages.filter(isOurs).map(textsOf);
	const tail = rulesNow(workset, ctx).bindsThinking
		? undefined
		: tiers.tailFor(shown, textsNow(workset), tailTag);
	workset.hasTail = tail !== undefined;
	const [, ...copies] = tail?.content ?? [];
	workset.beside = tiers.filesIn(copies.map(({ text }) => text)) ?? [];
	return tail ? [...messages, tail as Message] : messages;
}

/** Puts the tiers between system prompt and conversation. */
function withPrefix<Message extends { role: string }>(
	workset: OpenWorkset,
	messages: readonly Message[],
	ctx: ExtensionContext,
): readonly Message[] {
	const { tiers, controller, files, map } = workset;
	workset.prefix = tiers.tierPrefix({
		files,
		symbols: map?.entries ?? [],
		items: controller.items(),
		minimumTokens: rulesNow(workset, ctx).minimumTokens,
	});
	workset.beside = files.map(({ path, text, gone }) => ({ path, text: gone ? undefined : text }));
	if (workset.prefix.length === 0) return messages;
	const at = messages.findIndex(({ role }) => role !== "system");
	const prefix = workset.prefix.map((one) => piMessage(one, ctx) as unknown as Message);
	return messages.toSpliced(at < 0 ? messages.length : at, 0, ...prefix);
}

/** A message as pi holds it; an assistant's has to say by which model. */
function piMessage({ role, text }: Tiers.PrefixMessage, { model }: ExtensionContext): object {
	const content = [{ type: "text", text }];
	if (role === "user") return { role, content, timestamp: 0 };
	const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	return {
		role,
		content,
		api: model?.api,
		provider: model?.provider,
		model: model?.id,
		usage: { ...none, totalTokens: 0, cost: none },
		stopReason: "stop",
		timestamp: 0,
	};
}
