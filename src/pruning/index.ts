/** Pruning: old tool output is replaced by a stub with a way back, when that pays. */
export {
	type Candidate,
	type CandidateSettings,
	candidatesOf,
	PROTECTED_TOOL_TOKENS,
	type ResultFacts,
} from "./candidates.ts";
export { type FileTouch, followTouches, type Touches } from "./file-touches.ts";
export { withFrontierMarker } from "./frontier-marker.ts";
export { createGrowth, type Growth } from "./growth.ts";
export {
	type Action,
	createPruningHistory,
	type PruningHistory,
	type PruningSummary,
} from "./history.ts";
export { lastMeaningful, PIN_ENTRY, type PinEntry, pinnedCalls } from "./pins.ts";
export { freedBy, type Moment, type Plan, planOf } from "./plan.ts";
export { type Batch, type Pruned, prune } from "./prune.ts";
export { isTight, type PruneSettings, strictness } from "./strictness.ts";
export { callOf, MAX_STUB_BYTES, stubFor } from "./stub.ts";
