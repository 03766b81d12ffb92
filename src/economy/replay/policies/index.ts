import type { ReplayPolicy } from "../policy.ts";
import { appendOnly } from "./append-only.ts";
import { billed } from "./billed.ts";
import { noCache } from "./no-cache.ts";
import { pruneBatch } from "./prune-batch.ts";
import { pruneEach } from "./prune-each.ts";
import { readCache } from "./read-cache.ts";

/** The policies of the economy itself, in the order of the report. Other systems bring their own. */
export const replayPolicies: readonly ReplayPolicy[] = [
	noCache,
	appendOnly,
	billed,
	readCache,
	pruneEach,
	pruneBatch,
];
