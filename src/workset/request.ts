import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import { canCarryBreakpoint, withExtraBreakpoint } from "../economy/index.ts";
import { editId, type SessionView } from "../session/index.ts";
import { blockOf, copyText, type FileText, filesIn, TAIL_INTRO, viewOf } from "./copy-text.ts";
import { isLiteral } from "./plan.ts";
import { type PrefixMessage, tierPrefix, withTierBreakpoints } from "./tier-prefix.ts";
import { type BlockName, OWNER, type Workset } from "./workset.ts";

type Messages = readonly { readonly role: string }[];

/** Applies pending edits, and adds a tail or the tier prefix. Returns the same array if nothing changes. */
export function withWorkset(workset: Workset, messages: Messages, session: SessionView): Messages {
	const edited = withPending(messages, session);
	workset.beforeFrontier = blockBeforeFrontier(workset, messages, edited);
	workset.prefix = [];
	return isLiteral(workset, session)
		? withPrefix(workset, edited, session)
		: withTail(workset, edited, session);
}

/** Moves the breakpoints of an Anthropic request to text that the next request repeats. */
export function withBreakpoints(workset: Workset, payload: unknown): object | undefined {
	const { prefix, tailTag, beforeFrontier } = workset;
	if (prefix.length > 0) return withTierBreakpoints(payload, prefix);
	const moved = withBreakpointBeforeTail(payload, tailTag);
	const added = beforeFrontier && withBreakpointOnBlock(moved ?? payload, beforeFrontier);
	return added ?? moved;
}

/** An edit whose id is ambiguous waits for the end of the turn. If thinking is bound, it is dropped. */
function withPending(messages: Messages, { edits, cache, sessionManager }: SessionView): Messages {
	edits.settle(OWNER, sessionManager);
	if (cache.rules.bindsThinking) {
		const ids = messages.filter(isOurs).map(editId);
		for (const { entryId, sentAs } of edits.unsettled(OWNER, sessionManager)) {
			if (ids.filter((id) => id === sentAs).length > 1) edits.drop(entryId);
		}
	}
	return edits.applyTo(messages, OWNER);
}

function blockBeforeFrontier(
	{ frontier }: Workset,
	messages: Messages,
	edited: Messages,
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

/** Adds no tail if thinking would be bound to it, since the next request lacks that tail. */
function withTail(workset: Workset, messages: Messages, { cache }: SessionView): Messages {
	const shown = messages.filter(isOurs).map(textsOf);
	const tail = !cache.rules.bindsThinking && tailFor(shown, workset.texts(), workset.tailTag);
	const [, ...copies] = tail ? tail.content : [];
	workset.transientFiles = filesIn(copies.map(({ text }) => text)) ?? [];
	return tail ? [...messages, tail] : messages;
}

function withPrefix(workset: Workset, messages: Messages, session: SessionView): Messages {
	const { controller, files, map } = workset;
	workset.prefix = tierPrefix({
		files,
		symbols: map?.entries ?? [],
		items: controller.items(),
		minimumTokens: session.cache.rules.minimumTokens,
	});
	workset.transientFiles = files.map(({ path, text, gone }) => ({
		path,
		text: gone ? undefined : text,
	}));
	if (workset.prefix.length === 0) return messages;
	const at = messages.findIndex(({ role }) => role !== "system");
	const prefix = workset.prefix.map((one) => piMessage(one, session));
	return messages.toSpliced(at < 0 ? messages.length : at, 0, ...prefix);
}

/** Pi requires a model in an assistant message. */
function piMessage({ role, text }: PrefixMessage, { model }: SessionView) {
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

/** The last message, which is not stored: the files whose current text is not in the request. */
export function tailFor(
	messages: readonly (readonly string[])[],
	files: readonly FileText[],
	tag: string,
) {
	const inRequest = messages.map((texts) => ({ entryId: "", texts, tokensBehind: 0 }));
	const { newest } = viewOf(inRequest);
	const missing = files.filter(({ path, hash }) => newest.get(path) !== hash);
	if (missing.length === 0) return undefined;
	const copies = missing.map((file) => copyText(file, newest.get(file.path)));
	return { role: "user", content: [tag + TAIL_INTRO, ...copies].map(blockOf), timestamp: 0 };
}

/**
 * Moves the rolling breakpoint to the block before the tail. The tail changes, so a breakpoint on it
 * would never hit. Only the tail's first block starts with `tag`. Returns `undefined` for no change.
 */
export function withBreakpointBeforeTail(payload: unknown, tag: string): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const at = messages.findLastIndex((message) => isTail(message, tag));
	const carrier = lastBlock(messages.slice(0, Math.max(0, at)), canCarryBreakpoint);
	if (!carrier) return undefined;
	const blocks = messages.slice(at).flatMap(blocksIn);
	const breakpoint = blocks.map((one) => property(one, "cache_control")).find(Boolean);
	if (breakpoint === undefined) return undefined;
	const bare = messages.map((message, index) =>
		index < at ? message : withoutBreakpoints(message),
	);
	const { message, block } = carrier;
	const content = bare[message].content as object[];
	const marked = content.with(block, { ...content[block], cache_control: breakpoint });
	return {
		...(payload as object),
		messages: bare.with(message, { ...bare[message], content: marked }),
	};
}

function isTail(message: unknown, tag: string): boolean {
	const content = property(message, "content");
	const first = Array.isArray(content) ? property(content[0], "text") : content;
	return property(message, "role") === "user" && String(first).startsWith(tag);
}

function blocksIn(message: unknown): unknown[] {
	const content = property(message, "content");
	return Array.isArray(content) ? content : [];
}

function withoutBreakpoints(message: unknown): object {
	if (!Array.isArray(property(message, "content"))) return message as object;
	return {
		...(message as object),
		content: blocksIn(message).map((block) => {
			const { cache_control: _moved, ...bare } = block as { cache_control?: unknown };
			return bare;
		}),
	};
}

function lastBlock(messages: readonly unknown[], isWanted: (block: unknown) => boolean) {
	for (let message = messages.length - 1; message >= 0; message--) {
		const block = blocksIn(messages[message]).findLastIndex(isWanted);
		if (block >= 0) return { message, block };
	}
	return undefined;
}

/** Returns `undefined` if nothing changes, or if no further breakpoint is allowed. */
export function withBreakpointOnBlock(payload: unknown, name: BlockName): object | undefined {
	const isNamed = (block: unknown) =>
		"text" in name
			? property(block, "text") === name.text
			: property(block, "tool_use_id") === name.toolCallId;
	return withExtraBreakpoint(payload, (messages) => lastBlock(messages, isNamed));
}
