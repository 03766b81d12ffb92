import { property } from "../core/property.ts";
import { canCarryMarker, withExtraMarker } from "../economy/index.ts";
import { blockOf, copyText, type FileText, TAIL_INTRO, viewOf } from "./copy-text.ts";

/**
 * A request's last message, not in the session or any other request: the files that the request
 * does not show as they are. `messages` are in its order.
 */
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
 * Moves the rolling cache marker to the block before the tail: the tail changes, so a marker on it
 * would never hit. `tag` starts the tail's first block and nothing else. `undefined` for no change.
 */
export function withMarkerBeforeTail(payload: unknown, tag: string): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const at = messages.findLastIndex((message) => isTail(message, tag));
	const carrier = lastBlock(messages.slice(0, Math.max(0, at)), canCarryMarker);
	if (!carrier) return undefined;
	const marker = messages.slice(at).flatMap(blocksIn).map(markerOn).find(Boolean);
	if (marker === undefined) return undefined;
	const bare = messages.map((message, index) => (index < at ? message : withoutMarkers(message)));
	const { message, block } = carrier;
	const content = bare[message].content as object[];
	const marked = content.with(block, { ...content[block], cache_control: marker });
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

function markerOn(block: unknown): unknown {
	return property(block, "cache_control");
}

function withoutMarkers(message: unknown): object {
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

/** A tool result by its call, any other block by its text. */
export type BlockName = { readonly text: string } | { readonly toolCallId: string };

/**
 * Sets a cache marker on a block, if the limit leaves one. Before the next reorganisation's start,
 * it lets all earlier text be read, not rewritten. `undefined` for no change.
 */
export function withMarkerOnBlock(payload: unknown, name: BlockName): object | undefined {
	const isNamed = (block: unknown) =>
		"text" in name
			? property(block, "text") === name.text
			: property(block, "tool_use_id") === name.toolCallId;
	return withExtraMarker(payload, (messages) => lastBlock(messages, isNamed));
}
