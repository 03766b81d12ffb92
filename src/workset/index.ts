/** The working set: files in every request, always current, laid out for cache hits. */
import { requestForStep } from "../economy/index.ts";
import type { ReplayPolicy } from "../economy/replay/index.ts";

export { selectionOf } from "./selection.ts";

/**
 * Its cost is pi's: without a working set, the layout sends pi's own requests; with one, its
 * messages are in the session. A session file cannot say which files a user would have selected.
 */
export const logPolicy: ReplayPolicy = {
	name: "log",
	description: "the working set's layout; in a replay the session's own requests",
	*requests(session) {
		for (const step of session.steps()) yield requestForStep(step, step.blocks);
	},
};
