import { PlainText } from "../../parts/text.tsx";
import type { Column } from "../table.tsx";

export const CAUSE_COLUMN: Column<{ cause: string }> = {
	title: "Cause",
	cell: ({ cause }) => {
		const words = causeInWords(cause);
		return (
			<>
				<PlainText class="cause" text={causeName(cause)} most={80} />{" "}
				{words !== cause && <span class="soft">{words}</span>}
			</>
		);
	},
	class: "wide",
};

export const DIFFERENCE_COLUMN: Column<{ changed?: string | undefined }> = {
	title: "First difference",
	cell: ({ changed }) => changed !== undefined && <PlainText text={changed} most={200} />,
	class: "wide",
};

/** Causes of misses, as the protocol names them, in the words of pi and of `strata replay`. */
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

/** The short name of a cause. A replay calls pruning an edit. */
export function causeName(cause: string): string {
	return cause === "edit" ? "pruning" : cause;
}

export function causeInWords(cause: string): string {
	return WORDS.get(causeName(cause)) ?? cause;
}
