import { PlainText } from "../../parts/text.tsx";

/** Why the cache was missed: the cause, and what to make of it. */
export function Cause({ cause }: { cause: string }) {
	const words = causeInWords(cause);
	return (
		<>
			<PlainText class="cause" text={causeName(cause)} most={80} />{" "}
			{words !== cause && <span class="soft">{words}</span>}
		</>
	);
}

/** What was the first to differ from the request before, where that is known. */
export function FirstDifference({ changed }: { changed?: string | undefined }) {
	return changed === undefined ? null : <PlainText text={changed} most={200} />;
}

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
