/** Rebuilds the requests of a session and compares their cost under policies. */
export { findModel, knownModel, knownModels } from "../model-prices.ts";
export type { SessionBlock } from "./assembly.ts";
export { type BriefOptions, briefFolderText, briefText } from "./brief-text.ts";
export { clearing } from "./clearing.ts";
export { contentHash, nameOr } from "./content-hash.ts";
export { systemChangeOf } from "./conversation.ts";
export {
	ANSWERS,
	type BlockKind,
	type Entry,
	type FileRead,
	fullName,
	type ModelName,
	type SessionEntries,
	type SourceBlock,
} from "./entry.ts";
export { createLineHasher } from "./line-hashes.ts";
export { findMisses, type ReplayMissCause } from "./misses.ts";
export {
	appendOnly,
	type PolicyName,
	type PolicyOutcome,
	type ReplayPolicy,
	type RequestPolicy,
	replayPolicies,
	runPolicy,
	strataPolicy,
} from "./policies.ts";
export { type ReplayedSessions, replaySessions, requestIdsIn } from "./replay-sessions.ts";
export {
	buildReport,
	combineReports,
	type FolderReport,
	joinReports,
	type ReplayReport,
} from "./report.ts";
export { MOST_SESSIONS, PAGE_MARK, reportHtml } from "./report-html.ts";
export { folderText, reportText } from "./report-text.ts";
export {
	type ReplayModel,
	type ReplaySession,
	rebuildRequests,
	type Step,
} from "./requests.ts";
export { StepPrices, tokensOf } from "./step-prices.ts";
export { ttlAuto } from "./ttl-auto.ts";
