import { type Bill, billOf } from "../core/bill.ts";
import { SHOWN_EDITS_ENTRY } from "../core/entry-types.ts";
import { type SessionSource, shownEdits } from "../session/index.ts";

/** An entry of pi's session. */
export type SessionEntry = ReturnType<SessionSource["getBranch"]>[number];

export type Entries = ReadonlyMap<string, SessionEntry>;

export type ContextEdit = SessionEntry & { type: "context_edit" };

/** The edits that the next request shows from this entry on: recorded with the request, or stored after its answer. */
export function editsIn(entry: SessionEntry): ContextEdit[] {
	if (entry.type === "context_edit") return [entry];
	if (entry.type !== "custom" || entry.customType !== SHOWN_EDITS_ENTRY) return [];
	const { id, parentId, timestamp } = entry;
	return shownEdits(entry.data).map(([targetId, content]) => {
		const replacement = content === null ? null : { content };
		return { type: "context_edit", id, parentId, timestamp, targetId, replacement } as ContextEdit;
	});
}

/** The bill of a request, if the entry is its answer. */
export function billIn(entry: SessionEntry): Bill | undefined {
	if (entry.type !== "message") return undefined;
	return billOf(entry.message, Date.parse(entry.timestamp) || 0);
}
