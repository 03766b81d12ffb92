import { estimateTokens } from "../core/tokens.ts";
import { joined, type PromptItem, section, tierText } from "./tier-text.ts";
import { CACHED_TIERS, type CachedTier } from "./tiers.ts";

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
