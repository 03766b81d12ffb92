import { property } from "../core/property.ts";
import { breakpointsIn, MAX_BREAKPOINTS } from "../economy/index.ts";
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

interface PrefixContent {
	readonly files: readonly FileText[];
	readonly symbols: readonly Pick<FileText, "path" | "text">[];
	readonly items: ReadonlyMap<string, TrackedItem>;
	readonly minimumTokens: number;
}

/** Maximum for tiers: the system prompt and the conversation need the other breakpoints. */
const MAX_TIER_BREAKPOINTS = 2;

/** A pair of messages per tier, then active files. L0 has a pair, since the host owns the system prompt. */
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
	// The last message is the prompt, which is already in the conversation.
	const pairs = messages.slice(0, -1).flatMap(({ role, text, breakpoint }): PrefixMessage[] => {
		if (role !== "system") return [{ role, text, breakpoint }];
		return [
			{ role: "user", text, breakpoint: false },
			{ role: "assistant", text: "Ok.", breakpoint },
		];
	});
	const marked = pairs.flatMap(({ breakpoint }, index) => (breakpoint ? [index] : []));
	const kept = new Set(marked.slice(-MAX_TIER_BREAKPOINTS));
	return pairs.map((message, index) => ({ ...message, breakpoint: kept.has(index) }));
}

/** Returns `undefined`, for no change, unless the messages start with the unchanged prefix. */
export function withTierBreakpoints(
	payload: unknown,
	prefix: readonly PrefixMessage[],
): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages) || prefix.length > messages.length) return undefined;
	const breakpoints = breakpointsIn(payload);
	// The tiers get the same TTL as the conversation's own breakpoint.
	const last = breakpoints.at(-1);
	const isUnchanged = prefix.every(({ text }, index) => onlyText(messages[index]) === text);
	if (last === undefined || !isUnchanged) return undefined;
	let left = MAX_BREAKPOINTS - breakpoints.length;
	const marked = messages.map((message, index) => {
		if (!prefix[index]?.breakpoint || left <= 0) return message;
		left -= 1;
		const block = { type: "text", text: prefix[index].text, cache_control: last };
		return { ...message, content: [block] };
	});
	return { ...(payload as object), messages: marked };
}

function onlyText(message: unknown): unknown {
	const content = property(message, "content");
	if (!Array.isArray(content)) return content;
	return content.length === 1 ? property(content[0], "text") : undefined;
}
