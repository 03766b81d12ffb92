import type { StoredSession as StoredView } from "../../protocol/index.ts";
import type { StoredSession } from "./session-files.ts";
import type { Slot } from "./slot.ts";

/** A session file as a principal sees it; `undefined` for one that somebody else has open. */
export function storedView(
	stored: StoredSession,
	open: ReadonlyMap<string, Slot>,
	principal: string,
): StoredView | undefined {
	const slot = open.get(stored.path);
	if (slot && slot.principal !== principal) return undefined;
	const info = slot?.info();
	const name = info?.sessionName ?? stored.name;
	return {
		sessionPath: stored.path,
		...(slot && { sessionId: slot.sessionId }),
		...(name && { sessionName: name }),
		cwd: stored.cwd,
		createdAt: new Date(stored.createdMs).toISOString(),
		modifiedAt: new Date(stored.modifiedMs).toISOString(),
		messageCount: info?.messageCount ?? stored.messageCount,
		...(stored.firstMessage && { firstMessage: stored.firstMessage }),
		fileExists: true,
	};
}
