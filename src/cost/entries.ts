import { type Bill, billOf } from "../core/bill.ts";
import type { SessionSource } from "../session/index.ts";

/** An entry of pi's session. */
export type SessionEntry = ReturnType<SessionSource["getBranch"]>[number];

export type Entries = ReadonlyMap<string, SessionEntry>;

/** The bill of a request, if the entry is its answer. */
export function billIn(entry: SessionEntry): Bill | undefined {
	if (entry.type !== "message") return undefined;
	return billOf(entry.message, Date.parse(entry.timestamp) || 0);
}
