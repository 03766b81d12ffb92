import { compareText } from "../core/compare-text.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	CACHED_TIERS,
	type CachedTier,
	fileOfSymbol,
	type Tier,
	type TrackedItem,
} from "./item.ts";

/** The content of one request. Parts without content produce no message. */
export interface Prompt {
	readonly system: string;
	readonly legend?: string;
	readonly tiers: Readonly<Record<CachedTier, readonly PromptItem[]>>;
	readonly fileTree?: string;
	readonly urls?: string | readonly string[];
	/** May include symbol entries. */
	readonly activeFiles: readonly PromptItem[];
	/** Oldest first. */
	readonly activeHistory: readonly PromptItem[];
	readonly prompt: string;
	/** The provider's minimum for caching, in tokens. Shorter prefixes get no breakpoint. Default: 0. */
	readonly minimumTokens?: number;
}

interface PromptMessage {
	readonly role: "system" | "user" | "assistant";
	readonly text: string;
	readonly cached: boolean;
	/** Set on the last message of a tier, at most four times in a request. */
	readonly breakpoint: boolean;
}

/** Orders a request by stability: the system prompt with L0, then L1, L2, L3 and the uncached parts. */
export function assemble(prompt: Prompt): PromptMessage[] {
	const { system, legend = "", tiers, fileTree = "", urls = [], minimumTokens = 0 } = prompt;
	const messages: PromptMessage[] = [];
	let prefixTokens = estimateTokens(system.length) + estimateTokens(legend.length);
	for (const tier of CACHED_TIERS) {
		const items = tiers[tier];
		for (const { text, tokens } of items) prefixTokens += tokens ?? estimateTokens(text.length);
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

/** The assistant's reply to each content message, so that roles alternate. */
const ACKNOWLEDGEMENT = "Ok.";

function pair(text: string, { cached, breakpoint } = UNCACHED): PromptMessage[] {
	if (text === "") return [];
	return [
		{ role: "user", text, cached, breakpoint: false },
		{ role: "assistant", text: ACKNOWLEDGEMENT, cached, breakpoint },
	];
}

/** A file, symbol entry or history message with its text. */
export interface PromptItem {
	readonly key: string;
	readonly kind: "file" | "symbol" | "history";
	readonly text: string;
	/** Set if the file has no text to show; `text` then says why. */
	readonly gone?: true;
	/** For history only. Default: user. */
	readonly role?: "user" | "assistant";
	/** Default: an estimate from the text's length. */
	readonly tokens?: number;
	/** A number that grows by first appearance. Files and symbols are sorted by it, then by key. */
	readonly entered?: number;
}

/** Empty without items. The order does not depend on N: moving a block would change the prefix. */
function tierText(label: string, items: readonly PromptItem[]): string {
	const symbols = inOrder(items, "symbol").map(({ text }) => text);
	const files = inOrder(items, "file").map(fileText);
	const history = items.flatMap(({ kind, role, text }) =>
		kind === "history" ? [`### ${role === "assistant" ? "Assistant" : "User"}\n${text}`] : [],
	);
	return joined([
		section(`Symbols (${label})`, symbols),
		section(`Files (${label})`, files),
		section(`Conversation History (${label})`, history),
	]);
}

function section(title: string, texts: readonly string[]): string {
	const body = joined(texts);
	return body === "" ? "" : joined([`## ${title}`, body]);
}

function joined(parts: readonly string[]): string {
	return parts.filter((part) => part !== "").join("\n\n");
}

function inOrder(items: readonly PromptItem[], kind: PromptItem["kind"]): PromptItem[] {
	return items
		.filter((item) => item.kind === kind)
		.sort((a, b) => (a.entered ?? 0) - (b.entered ?? 0) || compareText(a.key, b.key));
}

/** The fence is longer than any fence in the file. A missing file gets no fence. */
function fileText({ key, text, gone }: PromptItem): string {
	if (gone) return `### ${shownPath(key)}\n${text}`;
	const runs = text.match(/`{3,}/g) ?? [];
	const fence = "`".repeat(runs.reduce((longest, { length }) => Math.max(longest, length + 1), 3));
	const end = text === "" || text.endsWith("\n") ? "" : "\n";
	return `### ${shownPath(key)}\n${fence}\n${text}${end}${fence}`;
}

/** Security: a path with a line break could look like one of our headings, so it is quoted. */
function shownPath(path: string): string {
	return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path;
}

/**
 * Assigns content to tiers for `assemble`; untracked content is active. A full file replaces its symbol
 * entry. History keeps its order; files and symbols are sorted by first appearance.
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
	return {
		tiers: { L0: at("L0"), L1: at("L1"), L2: at("L2"), L3: at("L3") },
		activeFiles: at("active").filter(({ kind }) => kind !== "history"),
		activeHistory: at("active").filter(({ kind }) => kind === "history"),
	};
}

/** Returns Anthropic's form, without blank texts and empty system prompts, which the API rejects. */
export function anthropicBody(messages: readonly PromptMessage[]) {
	const sent = messages.filter(({ text }) => text.trim() !== "");
	const system = sent.filter(({ role }) => role === "system").map(blockOf);
	return {
		...(system.length > 0 && { system }),
		messages: sent.flatMap((message) =>
			message.role === "system" ? [] : [{ role: message.role, content: [blockOf(message)] }],
		),
	};
}

function blockOf({ text, breakpoint }: PromptMessage) {
	return { type: "text", text, ...(breakpoint && { cache_control: { type: "ephemeral" } }) };
}
