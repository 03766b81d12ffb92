import { property } from "../core/property.ts";
import { MAX_MARKERS, markersIn } from "../economy/index.ts";
import {
	assemble,
	type PromptItem,
	placeByTier,
	symbolKey,
	type TrackedItem,
} from "../tiers/index.ts";
import type { FileText } from "./copy-text.ts";

export interface PrefixMessage {
	readonly role: "user" | "assistant";
	readonly text: string;
	readonly breakpoint: boolean;
}

export interface PrefixContent {
	readonly files: readonly FileText[];
	readonly symbols: readonly { readonly path: string; readonly text: string }[];
	readonly items: ReadonlyMap<string, TrackedItem>;
	readonly minimumTokens: number;
}

/** System prompt and conversation need the others. */
const MAX_TIER_MARKERS = 2;

/**
 * A pair of messages per tier, then one for active files. The host owns the system prompt, so L0 is
 * a pair of its own. Only the last tiers are marked.
 */
export function tierPrefix(content: PrefixContent): PrefixMessage[] {
	const { files, symbols, items, minimumTokens } = content;
	const contents: PromptItem[] = [
		...symbols.map(({ path, text }) => ({ key: symbolKey(path), kind: "symbol" as const, text })),
		...files.map(({ path, text, gone }) => {
			return { key: path, kind: "file" as const, text, ...(gone && { gone }) };
		}),
	];
	const placed = placeByTier(items, contents);
	const messages = assemble({ ...placed, system: "", prompt: "", minimumTokens });
	// The last is the prompt, which the conversation brings.
	const pairs = messages.slice(0, -1).flatMap(({ role, text, breakpoint }): PrefixMessage[] => {
		if (role !== "system") return [{ role, text, breakpoint }];
		return [
			{ role: "user", text, breakpoint: false },
			{ role: "assistant", text: "Ok.", breakpoint },
		];
	});
	const marked = pairs.flatMap(({ breakpoint }, index) => (breakpoint ? [index] : []));
	const kept = new Set(marked.slice(-MAX_TIER_MARKERS));
	return pairs.map((message, index) => ({ ...message, breakpoint: kept.has(index) }));
}

/** `undefined`, for no change, unless the prefix stands unchanged at the start. */
export function withTierMarkers(
	payload: unknown,
	prefix: readonly PrefixMessage[],
): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages) || prefix.length > messages.length) return undefined;
	const markers = markersIn(payload);
	// The lifetime of the conversation's own marker.
	const last = markers.at(-1);
	if (last === undefined || !prefix.every(({ text }, index) => saidBy(messages[index]) === text)) {
		return undefined;
	}
	let left = MAX_MARKERS - markers.length;
	const marked = messages.map((message, index) => {
		if (!prefix[index]?.breakpoint || left <= 0) return message;
		left -= 1;
		const block = { type: "text", text: prefix[index].text, cache_control: last };
		return { ...message, content: [block] };
	});
	return { ...(payload as object), messages: marked };
}

function saidBy(message: unknown): unknown {
	const content = property(message, "content");
	if (!Array.isArray(content)) return content;
	return content.length === 1 ? property(content[0], "text") : undefined;
}
