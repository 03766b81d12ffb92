import { requestOf } from "../economy/index.ts";
import type { ReplayPolicy } from "../economy/replay/index.ts";

/**
 * What sessions would have cost in the `log` layout: what they did cost in pi. Without a working set the layout sends
 * pi's own requests, and who had one has it in the session: the slot, its snapshots and their edits are entries like any
 * other. Which files somebody would have put into a working set, no session file can tell.
 */
export const logPolicy: ReplayPolicy = {
	name: "log",
	description: "the working set's layout; in a replay the session's own requests",
	*requests(session) {
		for (const step of session.steps()) yield requestOf(step, step.blocks);
	},
};
