import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { GarbledLine } from "../../core/session-file-watch.ts";

/**
 * What a damaged session file has lost, for people; `undefined` for one that is whole. Pi skips lines that it cannot
 * read. An entry behind such a line then has no parent, and what came before it is out of view.
 */
export function describeDamage(
	garbled: readonly GarbledLine[],
	entries: readonly SessionEntry[],
	branch: readonly SessionEntry[],
): string | undefined {
	const lines = garbledText(garbled);
	const hidden = hiddenBefore(entries, branch);
	if (!lines && !hidden) return undefined;
	return [
		lines ?? "The session's file lacks entries.",
		hidden ?? "Nothing else is out of view.",
		"Nothing is removed from the file.",
	].join(" ");
}

const MAX_NAMED = 3;

function garbledText(garbled: readonly GarbledLine[]): string | undefined {
	if (garbled.length === 0) return undefined;
	const named = garbled
		.slice(0, MAX_NAMED)
		.map(({ number, from, to }) => `line ${number} (bytes ${from} to ${to})`);
	const more = garbled.length - named.length;
	const which = `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
	return `The session's file is damaged: ${which} cannot be read and ${garbled.length === 1 ? "is" : "are"} lost.`;
}

/** What lies before the entry in the branch that has lost its parent. */
function hiddenBefore(
	entries: readonly SessionEntry[],
	branch: readonly SessionEntry[],
): string | undefined {
	const [first] = branch;
	if (!first?.parentId) return undefined; // a file of another program may leave it out
	const at = entries.indexOf(first);
	const before = entries.slice(0, at);
	const messages = before.filter(({ type }) => type === "message").length;
	const last = before.at(-1);
	const back = last
		? ` get_tree shows them, and navigate_tree to ${last.id} goes back to them.`
		: "";
	return `Entry ${first.id} has lost its parent ${first.parentId}: the ${before.length} entries before it, with ${messages} messages, are out of view.${back}`;
}
