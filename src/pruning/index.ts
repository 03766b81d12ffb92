/** Pruning: old tool output is replaced by a stub with a way back, when that pays. */
export { type Candidate, frontierOf, type ResultFacts } from "./candidates.ts";
export { type FileTouch, followTouches } from "./file-touches.ts";
export {
	type Action,
	createPruningHistory,
	type PruningHistory,
	type PruningSummary,
} from "./history.ts";
export { contentOf, createPendingStubs, knownByCall, type PendingStubs } from "./pending-stubs.ts";
export { lastMeaningful, type PinEntry, pinnedCalls } from "./pins.ts";
export type { Plan } from "./plan.ts";
export { keepAgain, type Pruned, prune, prunedAs } from "./prune.ts";
export { createPruner, type Decision, type PrunableSession, type Pruner } from "./pruner.ts";
export { pruningPolicy } from "./replay-policy.ts";
export { withMarkerBeforeResult } from "./result-marker.ts";
export type { PruneSettings } from "./strictness.ts";
export { callOf, isStub, type KeptOut, keptOut } from "./stub.ts";
