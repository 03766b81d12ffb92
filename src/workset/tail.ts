import { property } from "../core/property.ts";
import { canCarryMarker, withExtraMarker } from "../economy/index.ts";
import {
	blockOf,
	copyText,
	type FileText,
	TAIL_INTRO,
	type TextBlock,
	viewOf,
} from "./copy-text.ts";

/** A request's last message; not in the session or any other request. */
export interface TailMessage {
	role: "user";
	content: TextBlock[];
	timestamp: 0;
}

/** Files that the request does not show as they are; `messages` are in its order. */
export function tailFor(
	messages: readonly (readonly string[])[],
	files: readonly FileText[],
	tag: string,
): TailMessage | undefined {
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
	const carrier = lastCarrier(messages.slice(0, Math.max(0, at)));
	if (!carrier) return undefined;
	const marker = messages
		.slice(at)
		.map(markerIn)
		.find((one) => one !== undefined);
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

function lastCarrier(messages: readonly unknown[]): { message: number; block: number } | undefined {
	for (let message = messages.length - 1; message >= 0; message--) {
		const content = property(messages[message], "content");
		if (!Array.isArray(content)) continue;
		const block = content.findLastIndex(canCarryMarker);
		if (block >= 0) return { message, block };
	}
	return undefined;
}

function markerIn(message: unknown): unknown {
	const content = property(message, "content");
	if (!Array.isArray(content)) return undefined;
	return content.map((block) => property(block, "cache_control")).find(Boolean);
}

function withoutMarkers(message: unknown): object {
	const content = property(message, "content");
	if (!Array.isArray(content)) return message as object;
	return {
		...(message as object),
		content: content.map((block) => {
			const { cache_control: _moved, ...bare } = block as { cache_control?: unknown };
			return bare;
		}),
	};
}

/** A tool result by its call, any other block by its text. */
export type BlockName = { readonly text: string } | { readonly toolCallId: string };

/**
 * Sets a cache marker on a block, if the limit leaves one. Before the next reorganisation's start,
 * it lets all earlier text be read, not rewritten. `undefined` for no change.
 */
export function withMarkerOnBlock(payload: unknown, block: BlockName): object | undefined {
	return withExtraMarker(payload, (messages) => {
		for (let message = messages.length - 1; message >= 0; message--) {
			const content = property(messages[message], "content");
			if (!Array.isArray(content)) continue;
			const at = content.findLastIndex((one) => isNamed(one, block));
			if (at >= 0) return { message, block: at };
		}
		return undefined;
	});
}

function isNamed(block: unknown, name: BlockName): boolean {
	if ("text" in name) return property(block, "text") === name.text;
	return property(block, "tool_use_id") === name.toolCallId;
}
