import { compareText } from "../core/compare-text.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	CACHED_TIERS,
	type CachedTier,
	fileOfSymbol,
	type Tier,
	type TrackedItem,
} from "./item.ts";

/** All that goes into one request. Parts without content leave no message. */
export interface Prompt {
	readonly system: string;
	/** How to read the symbol map; stands behind the system prompt. */
	readonly legend?: string;
	readonly tiers: Readonly<Record<CachedTier, readonly PromptItem[]>>;
	readonly fileTree?: string;
	readonly urls?: string | readonly string[];
	/** Working files that are not in a tier; symbol entries that are not may stand among them. */
	readonly activeFiles: readonly PromptItem[];
	/** Messages that are not in a tier, oldest first. */
	readonly activeHistory: readonly PromptItem[];
	/** What the user says now. */
	readonly prompt: string;
	/**
	 * The shortest prefix that the model's provider caches, in tokens. A breakpoint where all text up to it is shorter is
	 * left out; the text stays where it is. Default: 0, all breakpoints are set.
	 */
	readonly minimumTokens?: number;
}

/** One message of a request, for whatever provider. */
export interface PromptMessage {
	readonly role: "system" | "user" | "assistant";
	readonly text: string;
	/** The message belongs to a cached tier. */
	readonly cached: boolean;
	/** A cache marker belongs at its end: on the last message of a tier, at most four in a request. */
	readonly breakpoint: boolean;
}

/**
 * Lays a request out by stability: the system prompt with L0, then L1, L2 and L3, then what is not cached: file tree, web
 * pages, active files, the recent conversation, and the prompt.
 */
export function assemble(prompt: Prompt): PromptMessage[] {
	const { system, legend = "", tiers, fileTree = "", urls = [], minimumTokens = 0 } = prompt;
	const messages: PromptMessage[] = [];
	let prefixTokens = tokensOf(system) + tokensOf(legend);
	for (const tier of CACHED_TIERS) {
		const items = tiers[tier];
		prefixTokens += items.reduce((sum, { text, tokens }) => sum + (tokens ?? tokensOf(text)), 0);
		const text = tierText(tier, items);
		const breakpoint = prefixTokens >= minimumTokens;
		if (tier === "L0") {
			const whole = joined([system, legend, text]);
			if (whole !== "") messages.push({ role: "system", text: whole, cached: true, breakpoint });
		} else {
			messages.push(...pair(text, { cached: true, breakpoint }));
		}
	}
	return [
		...messages,
		...pair(section("File Tree", [fileTree])),
		...pair(section("URL Context", typeof urls === "string" ? [urls] : urls)),
		...pair(tierText("active", prompt.activeFiles)),
		...prompt.activeHistory.map(({ role = "user", text }) => ({ role, text, ...UNCACHED })),
		{ role: "user", text: prompt.prompt, ...UNCACHED },
	];
}

const UNCACHED = { cached: false, breakpoint: false };

/** What the assistant is made to answer to content, so that roles alternate. */
const ACKNOWLEDGEMENT = "Ok.";

/** Content and its acknowledgement; nothing for no content. */
function pair(text: string, { cached, breakpoint } = UNCACHED): PromptMessage[] {
	if (text === "") return [];
	return [
		{ role: "user", text, cached, breakpoint: false },
		{ role: "assistant", text: ACKNOWLEDGEMENT, cached, breakpoint },
	];
}

function tokensOf(text: string): number {
	return estimateTokens(text.length);
}

/** A piece of a prompt that has a place in a tier or in the active part. */
export interface PromptItem {
	/** A file's path, `symbol:<path>`, or the stable id of a history entry. */
	readonly key: string;
	readonly kind: "file" | "symbol" | "history";
	/** The file's content, the compact block of its symbols, or what was said. */
	readonly text: string;
	/** The file has no text to show, and `text` says why. */
	readonly gone?: true;
	/** Who said it; of history only. Default: user. */
	readonly role?: "user" | "assistant";
	/** What the text weighs. Default: an estimate from its length. */
	readonly tokens?: number;
	/** When the item was first seen; any rising number. Symbols and files stand in this order, then in that of keys. */
	readonly entered?: number;
}

/**
 * The text of a tier, or of the active part: symbols, then files, then history as markdown; empty without items. N has
 * no say in the order: a count that moves text would change bytes where nothing changed.
 */
export function tierText(label: string, items: readonly PromptItem[]): string {
	const symbols = inOrder(items, "symbol").map(({ text }) => text);
	const files = inOrder(items, "file").map(fileText);
	const history = items.filter(({ kind }) => kind === "history").map(messageText);
	return joined([
		section(`Symbols (${label})`, symbols),
		section(`Files (${label})`, files),
		section(`Conversation History (${label})`, history),
	]);
}

/** A heading with what stands under it; empty if that is nothing. */
export function section(title: string, texts: readonly string[]): string {
	const body = joined(texts);
	return body === "" ? "" : joined([`## ${title}`, body]);
}

/** Parts with an empty line between them; empty parts leave no trace. */
export function joined(parts: readonly string[]): string {
	return parts.filter((part) => part !== "").join("\n\n");
}

function inOrder(items: readonly PromptItem[], kind: PromptItem["kind"]): PromptItem[] {
	return items
		.filter((item) => item.kind === kind)
		.sort((a, b) => (a.entered ?? 0) - (b.entered ?? 0) || compareText(a.key, b.key));
}

/** A file under its path, in a fence longer than any inside it; what is said instead of its text is in none. */
function fileText({ key, text, gone }: PromptItem): string {
	if (gone) return `### ${shownPath(key)}\n${text}`;
	const runs = text.match(/`{3,}/g) ?? [];
	const fence = "`".repeat(runs.reduce((longest, { length }) => Math.max(longest, length + 1), 3));
	const end = text === "" || text.endsWith("\n") ? "" : "\n";
	return `### ${shownPath(key)}\n${fence}\n${text}${end}${fence}`;
}

/** A name with a line break in it could pass for a heading of ours. */
function shownPath(path: string): string {
	return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path;
}

function messageText({ role, text }: PromptItem): string {
	return `### ${role === "assistant" ? "Assistant" : "User"}\n${text}`;
}

/**
 * Sends each piece of content where its tracking says, ready for `assemble`. History keeps the order given; files and
 * symbols stand in the order in which they were first seen. The symbol entry of a file that is there in full is left
 * out, and what is not tracked is active.
 */
export function placeByTier(
	items: ReadonlyMap<string, TrackedItem>,
	contents: Iterable<PromptItem>,
): Pick<Prompt, "tiers" | "activeFiles" | "activeHistory"> {
	const given = [...contents];
	const files = new Set(given.filter(({ kind }) => kind === "file").map(({ key }) => key));
	const seen = new Map(Array.from(items.keys(), (key, index) => [key, index]));
	const placed = Map.groupBy(
		given
			.filter(({ key, kind }) => kind !== "symbol" || !files.has(fileOfSymbol(key) ?? key))
			.map((item) => ({ ...item, entered: seen.get(item.key) ?? seen.size })),
		({ key }) => items.get(key)?.tier ?? "active",
	);
	const at = (tier: Tier) => placed.get(tier) ?? [];
	const tiers: Record<CachedTier, PromptItem[]> = {
		L0: at("L0"),
		L1: at("L1"),
		L2: at("L2"),
		L3: at("L3"),
	};
	return {
		tiers,
		activeFiles: at("active").filter(({ kind }) => kind !== "history"),
		activeHistory: at("active").filter(({ kind }) => kind === "history"),
	};
}

/** A text of a request to Anthropic, with or without a cache marker. */
export interface AnthropicBlock {
	readonly type: "text";
	readonly text: string;
	readonly cache_control?: { readonly type: "ephemeral" };
}

/** The two parts of a request to Anthropic that hold the prompt. */
export interface AnthropicBody {
	/** Absent without a system prompt: the provider refuses an empty one. */
	readonly system?: readonly AnthropicBlock[];
	readonly messages: readonly {
		readonly role: "user" | "assistant";
		readonly content: readonly AnthropicBlock[];
	}[];
}

/** The messages of {@link assemble} as Anthropic takes them. Blank texts, which it refuses, are left out. */
export function anthropicBody(messages: readonly PromptMessage[]): AnthropicBody {
	const sent = messages.filter(({ text }) => text.trim() !== "");
	const system = sent.filter(({ role }) => role === "system").map(blockOf);
	return {
		...(system.length > 0 && { system }),
		messages: sent.flatMap((message) =>
			message.role === "system" ? [] : [{ role: message.role, content: [blockOf(message)] }],
		),
	};
}

function blockOf({ text, breakpoint }: PromptMessage): AnthropicBlock {
	return { type: "text", text, ...(breakpoint && { cache_control: { type: "ephemeral" } }) };
}
