/** Pruning replaces content, and so does the working set. */
const REPLACED = "older content was replaced on purpose";

/** The causes of cache misses, described for users. Pi's notices, replay and the dashboard share them. */
export const MISS_CAUSES = {
	compaction: "the conversation was compacted",
	pruning: REPLACED,
	edit: REPLACED,
	model: "the model changed",
	thinking: "the thinking level changed",
	setting: "a setting changed",
	expired: "the pause was longer than the cache's TTL",
	tools: "the tools changed",
	system: "the system prompt changed",
	branch: "the session moved to another branch",
	messages: "an earlier message changed",
	/** Everything cached after the first dropped block is lost too. */
	dropped: "the provider dropped thinking that was bound to another prefix",
	cleared: "the provider cleared earlier content from the prompt",
	provider: "nothing changed on our side that we can see; the provider may have evicted the prefix",
	unknown: "unknown: the request was not observed",
} as const;

/** The cause of a miss in a live session. Only a replay has the cause `edit`. */
export type MissCause = Exclude<keyof typeof MISS_CAUSES, "edit">;

/** What a person can do about each cause. The page and the reports of replay share it. */
export const MISS_ADVICE: Readonly<Record<keyof typeof MISS_CAUSES, string>> = {
	compaction: "expected once; compact between two topics rather than within one",
	pruning: "nothing here: every later request is smaller",
	edit: "nothing here: every later request is smaller",
	model: "change the model at the start of a session, or right after a compaction",
	thinking: "choose the thinking level before the first message",
	setting: "choose settings of the model before the first message",
	expired:
		"answer sooner, or compact before a long pause; in pi, economy.ttl can keep prompts cached for an hour",
	tools: "switch tools, MCP servers and extensions between sessions, not within one",
	system: "change AGENTS.md, skills and the folder between sessions, not within one",
	branch: "expected: another branch begins with another text",
	messages:
		"an extension or the agent rewrote earlier text; switch extensions off one by one to find it",
	dropped: "leave the text before a thinking block as it is; prune right after a compaction",
	cleared: "expected where the provider clears old results",
	provider: "nothing here; if it happens often, ask the provider",
	unknown: "run the agent with strata run, or pi with pi-strata, so that requests are observed",
};

/** Causes come from servers that may be newer: an unknown one has no advice. */
export function missAdvice(cause: string): string | undefined {
	return Object.hasOwn(MISS_ADVICE, cause)
		? MISS_ADVICE[cause as keyof typeof MISS_CAUSES]
		: undefined;
}
