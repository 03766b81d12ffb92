/**
 * Replay: reads a session of pi, rebuilds the requests that were sent, and finds what they cost, what they would have
 * cost under other policies, and where the provider's cache was missed.
 */
export type { SessionBlock } from "./assembly.ts";
export { combineReports, type FolderReport } from "./folder-report.ts";
export { MOST_SESSIONS, PAGE_MARK, reportHtml } from "./html.ts";
export { plainText } from "./plain-text.ts";
export { replayPolicies } from "./policies/index.ts";
export { strataPolicy } from "./policies/strata.ts";
export { type PolicyOutcome, type ReplayPolicy, type RequestPolicy, runPolicy } from "./policy.ts";
export { buildReport, type ReplayReport } from "./report.ts";
export { type ReplayModel, type ReplaySession, rebuildRequests, type Step } from "./requests.ts";
export { readSessionFile } from "./session-file.ts";
export { sharedStart } from "./shared-start.ts";
export { folderText, reportText } from "./text.ts";
