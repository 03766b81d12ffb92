import type { MissCause } from "./live/miss.ts";
import type { ReplayMissCause } from "./replay/misses.ts";

/** By pruning or for the working set. */
const REPLACED = "older content was replaced on purpose";

/** For people: live sessions and replay share the wording. */
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
