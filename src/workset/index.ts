/** The working set: files that every request shows in their current state, laid out for cache hits. */
import { requestForStep } from "../economy/index.ts";
import type { ReplayPolicy } from "../economy/replay/index.ts";

export { selectionOf } from "./selection.ts";

/**
 * Costs the same as pi: without a working set, requests are pi's own; with one, its messages are in the
 * session. A session file cannot show which files a user would have selected.
 */
export const logPolicy: ReplayPolicy = {
	name: "log",
	description: "the layout of the working set; in a replay, these are the session's own requests",
	*requests(session) {
		for (const step of session.steps()) yield requestForStep(step, step.blocks);
	},
};
