import type { MissCause } from "./live/miss.ts";
import type { ReplayMissCause } from "./replay/misses.ts";

/** Older content was taken out or made shorter, by pruning or for the working set; whether it paid, time will tell. */
const REPLACED = "older content was replaced on purpose";

/** What causes of misses mean, for people: the same words while a session runs and in a replay. */
export const MISS_CAUSES: Readonly<Record<MissCause | ReplayMissCause, string>> = {
	compaction: "the conversation was compacted",
	pruning: REPLACED,
	edit: REPLACED,
	model: "the model changed",
	thinking: "the thinking level changed",
	expired: "the pause was longer than the cache lives",
	tools: "the tools changed",
	system: "the system prompt changed",
	branch: "another branch of the session",
	messages: "an earlier message changed",
	dropped: "the provider dropped thinking that was bound to another beginning",
	provider: "nothing changed on our side that shows, so the provider may have lost it",
	unknown: "not known: the request was not watched",
};
