/** Causes of misses, as the protocol calls them, in the words that pi and `strata replay` have for them. */
const WORDS: ReadonlyMap<string, string> = new Map([
	["compaction", "the conversation was compacted"],
	["pruning", "older content was replaced on purpose"],
	["model", "the model changed"],
	["thinking", "the thinking level changed"],
	["expired", "the pause was longer than the cache lives"],
	["tools", "the tools changed"],
	["system", "the system prompt changed"],
	["branch", "another branch of the session"],
	["messages", "an earlier message changed"],
	["dropped", "the provider dropped thinking that was bound to another beginning"],
	["provider", "nothing changed on our side that shows, so the provider may have lost it"],
	["unknown", "not known: the request was not watched"],
]);

/** The short name of a cause. A replay says of content that was replaced only that it was edited. */
export function causeName(cause: string): string {
	return cause === "edit" ? "pruning" : cause;
}

/** A cause in a few words; one that this page does not know speaks for itself. */
export function causeInWords(cause: string): string {
	return WORDS.get(causeName(cause)) ?? cause;
}
