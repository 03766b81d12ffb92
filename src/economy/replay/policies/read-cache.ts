import type { ReplayPolicy } from "../policy.ts";
import { createReadReplacer } from "../replaced-reads.ts";
import { requestOf } from "./append-only.ts";

/** Files that the model has before it are not sent again. */
export const readCache: ReplayPolicy = {
	name: "read-cache",
	description: "repeated reads become a marker or a diff",
	*requests(session) {
		const reads = createReadReplacer();
		for (const step of session.steps()) yield requestOf(step, reads.replace(step.blocks));
	},
};
