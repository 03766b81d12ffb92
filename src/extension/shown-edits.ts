import { isDeepStrictEqual } from "node:util";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { SHOWN_EDITS_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";

/** What a message is to become; `null` takes it away. */
export type ShownContent = { type: "text"; text: string }[] | null;

type Session = Pick<ExtensionContext, "sessionManager">;

/**
 * Records edits that the next request shows and the session does not have yet, by the entries that they are of. The
 * session gets them at the end of the turn, behind the answer. A session that goes on right from that answer (in the
 * tree, as a fork, after a crash) has this record only, and needs it: the answer's thinking is bound to the edits.
 */
export function recordShown(
	pi: ExtensionAPI,
	session: Session,
	edits: ReadonlyMap<string, ShownContent>,
): void {
	const known = shownEdits(session);
	const others = [...edits].filter(([id, content]) => !isDeepStrictEqual(known.get(id), content));
	if (others.length > 0) pi.appendEntry(SHOWN_EDITS_ENTRY, { v: 1, edits: others });
}

/** Recorded edits that the branch does not have. A compaction ends them, as it ends the thinking before it. */
export function shownEdits({ sessionManager }: Session): Map<string, ShownContent> {
	const edits = new Map<string, ShownContent>();
	for (const entry of sessionManager.getBranch()) {
		if (entry.type === "compaction") edits.clear();
		else if (entry.type === "context_edit") edits.delete(entry.targetId);
		else if (entry.type === "custom" && entry.customType === SHOWN_EDITS_ENTRY) {
			for (const [id, content] of editsIn(entry.data)) edits.set(id, content);
		}
	}
	return edits;
}

/** Session files may hold anything. */
function editsIn(data: unknown): [string, ShownContent][] {
	const edits = property(data, "edits");
	return Array.isArray(edits) ? edits.filter(isEdit) : [];
}

function isEdit(value: unknown): value is [string, ShownContent] {
	if (!Array.isArray(value) || typeof value[0] !== "string") return false;
	const content: unknown = value[1];
	if (content === null) return true;
	return (
		Array.isArray(content) &&
		content.every((block) => block?.type === "text" && typeof block.text === "string")
	);
}
