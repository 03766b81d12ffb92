import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import { editId, type SessionView } from "../session/index.ts";
import { filesIn } from "./copy-text.ts";
import { isLiteral } from "./plan.ts";
import { type BlockName, tailFor, withMarkerBeforeTail, withMarkerOnBlock } from "./tail.ts";
import { type PrefixMessage, tierPrefix, withTierMarkers } from "./tier-prefix.ts";
import { type OpenWorkset, OWNER, textsNow } from "./workset.ts";

/** Adds pending edits, and a tail or the tier prefix. Returns the same array for no change. */
export function withWorkset<Message extends { role: string }>(
	workset: OpenWorkset,
	messages: readonly Message[],
	session: SessionView,
): readonly Message[] {
	const edited = withPending(messages, session);
	workset.beforeFrontier = blockBeforeFrontier(workset, messages, edited);
	workset.prefix = [];
	return isLiteral(workset, session)
		? withPrefix(workset, edited, session)
		: withTail(workset, edited, session);
}

/** Moves the cache markers of an Anthropic request to what the next request repeats. */
export function withMarkers(workset: OpenWorkset, payload: unknown): object | undefined {
	const { prefix, hasTail, tailTag, beforeFrontier } = workset;
	if (prefix.length > 0) return withTierMarkers(payload, prefix);
	const moved = hasTail ? withMarkerBeforeTail(payload, tailTag) : undefined;
	const added = beforeFrontier && withMarkerOnBlock(moved ?? payload, beforeFrontier);
	return added ?? moved;
}

/**
 * A message with a reused id cannot be identified: its edit waits for the end of the turn, unless
 * thinking will be bound to it by then.
 */
function withPending<Message>(
	messages: readonly Message[],
	{ edits, cache, sessionManager }: SessionView,
): readonly Message[] {
	edits.settle(OWNER, sessionManager);
	if (cache.rules.bindsThinking) {
		const ids = messages.filter(isOurs).map(editId);
		for (const { entryId, sentAs } of edits.unsettled(OWNER, sessionManager)) {
			if (ids.filter((id) => id === sentAs).length > 1) edits.drop(entryId);
		}
	}
	return edits.applyTo(messages, OWNER);
}

function blockBeforeFrontier<Message>(
	{ frontier }: OpenWorkset,
	messages: readonly Message[],
	edited: readonly Message[],
): BlockName | undefined {
	if (!frontier) return undefined;
	const isFrontier = (message: unknown) =>
		isOurs(message) && editId(message) === frontier.messageId;
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

function textsOf(message: unknown): string[] {
	const content = property(message, "content");
	if (!Array.isArray(content)) return [String(content)];
	return content.map((block) => String(property(block, "text")));
}

/** No tail where thinking would be bound to it: the next request lacks it. */
function withTail<Message>(
	workset: OpenWorkset,
	messages: readonly Message[],
	session: SessionView,
): readonly Message[] {
	const shown = messages.filter(isOurs).map(textsOf);
	const tail = session.cache.rules.bindsThinking
		? undefined
		: tailFor(shown, textsNow(workset), workset.tailTag);
	workset.hasTail = tail !== undefined;
	const [, ...copies] = tail?.content ?? [];
	workset.beside = filesIn(copies.map(({ text }) => text)) ?? [];
	return tail ? [...messages, tail as Message] : messages;
}

function withPrefix<Message extends { role: string }>(
	workset: OpenWorkset,
	messages: readonly Message[],
	session: SessionView,
): readonly Message[] {
	const { controller, files, map } = workset;
	workset.prefix = tierPrefix({
		files,
		symbols: map?.entries ?? [],
		items: controller.items(),
		minimumTokens: session.cache.rules.minimumTokens,
	});
	workset.beside = files.map(({ path, text, gone }) => ({ path, text: gone ? undefined : text }));
	if (workset.prefix.length === 0) return messages;
	const at = messages.findIndex(({ role }) => role !== "system");
	const prefix = workset.prefix.map((one) => piMessage(one, session) as unknown as Message);
	return messages.toSpliced(at < 0 ? messages.length : at, 0, ...prefix);
}

/** Pi requires the model of an assistant message. */
function piMessage({ role, text }: PrefixMessage, { model }: SessionView): object {
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
