import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { StoredSettings } from "./stored-settings.ts";

/** Where a session goes on in a file that may have changed since its record was written. */
export interface OwnPlace {
	/** The entry to go on from, `null` for before the first. Absent: behind the last entry, as pi does. */
	readonly leaf?: string | null;
	/** What has happened to the file, for people. */
	readonly warning?: string;
}

/**
 * The server's own place in a file. Entries behind the last recorded one are another program's or, if the process before
 * was cut off, from its own last work. If they continue the server's own branch the session goes on behind them: all that
 * is its own stays in view. Otherwise it stays where it was.
 */
export function ownPlace(
	entries: readonly SessionEntry[],
	{ leaf, lastEntry, lastInFile }: Pick<StoredSettings, "leaf" | "lastEntry" | "lastInFile">,
	wasCutOff: boolean,
): OwnPlace {
	const last = entries.at(-1)?.id;
	const recorded = lastEntry ?? leaf?.afterEntry;
	const moved = leaf && leaf.afterEntry === recorded ? leaf.id : undefined;
	const ids = new Set(entries.map(({ id }) => id));
	const own = typeof moved === "string" && !ids.has(moved) ? undefined : moved;
	if (last === recorded) return own === undefined ? {} : { leaf: own };
	if (lastEntry === undefined) return {};
	if (!ids.has(lastEntry)) {
		const lost = `The session's file lacks the last entry that this server wrote to it (${lastEntry}). What was said last may be missing.`;
		if (lastInFile === undefined || !ids.has(lastInFile)) return { warning: lost };
		const place = ownPlace(entries, { ...(leaf && { leaf }), lastEntry: lastInFile }, wasCutOff);
		return { ...place, warning: [lost, place.warning].filter(Boolean).join(" ") };
	}
	const place = own === undefined ? lastEntry : own;
	const added = entries.slice(entries.findIndex(({ id }) => id === lastEntry) + 1);
	const count = `${added.length} ${added.length === 1 ? "entry" : "entries"}`;
	const what = `Another program has added to the session's file since this server had it open (${count})`;
	if (continues(added, place)) {
		return wasCutOff ? {} : { warning: `${what}. The session goes on behind that.` };
	}
	return {
		leaf: place,
		warning: `${what}, in a branch of its own. The session stays in its own branch; get_tree shows both.`,
	};
}

/** Whether the last of the entries hangs on that place by way of the others. */
function continues(added: readonly SessionEntry[], place: string | null): boolean {
	let above = added.at(-1)?.parentId;
	for (const { id, parentId } of added.toReversed()) if (id === above) above = parentId;
	return above === place;
}
