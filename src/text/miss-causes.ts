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
