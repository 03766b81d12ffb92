/**
 * Replay: reads a session of pi, rebuilds the requests that were sent, and finds what they cost, what they would have
 * cost under other policies, and where the provider's cache was missed.
 */
export type { SessionBlock } from "./assembly.ts";
export { MOST_SESSIONS, PAGE_MARK, reportHtml } from "./html.ts";
export { plainText } from "./plain-text.ts";
export { replayPolicies, strataPolicy } from "./policies.ts";
export { type PolicyOutcome, type ReplayPolicy, type RequestPolicy, runPolicy } from "./policy.ts";
export { buildReport, combineReports, type FolderReport, type ReplayReport } from "./report.ts";
export {
	type ReplayModel,
	type ReplaySession,
	rebuildRequests,
	type Step,
} from "./requests.ts";
export { readSessionFile } from "./session-file.ts";
export { folderText, reportText } from "./text.ts";
