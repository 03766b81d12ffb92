/** Rebuilds the requests of a session and compares their cost under policies. */
export { findModel, knownModel, knownModels } from "../model-prices.ts";
export type { SessionBlock } from "./assembly.ts";
export {
	type PolicyOutcome,
	type ReplayPolicy,
	type RequestPolicy,
	replayPolicies,
	runPolicy,
	strataPolicy,
} from "./policies.ts";
export { buildReport, combineReports, type FolderReport, type ReplayReport } from "./report.ts";
export { MOST_SESSIONS, PAGE_MARK, reportHtml } from "./report-html.ts";
export { folderText, reportText } from "./report-text.ts";
export {
	type ReplayModel,
	type ReplaySession,
	rebuildRequests,
	type Step,
} from "./requests.ts";
export { readSessionFile } from "./session-file.ts";
