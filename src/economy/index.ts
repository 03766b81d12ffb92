/** The economy: what requests cost by the providers' rules, why caches miss, and when changing a conversation pays. */
export { costOf, dollarsOf, writeRatioFor } from "./cost.ts";
export { type Account, type CostlyMiss, createAccount } from "./live/account.ts";
export { accountText, missText } from "./live/account-text.ts";
export {
	type BlockPlace,
	canCarryMarker,
	MAX_MARKERS,
	markersIn,
	withExtraMarker,
} from "./live/anthropic-markers.ts";
export type { Answered } from "./live/miss.ts";
export { payloadBlocks, simulated } from "./live/payload.ts";
export { findModel, knownModels } from "./model-prices.ts";
export { placeBreakpoints } from "./place-breakpoints.ts";
export type {
	FolderReport,
	ReplayModel,
	ReplayPolicy,
	ReplayReport,
	ReplaySession,
	RequestPolicy,
	SessionBlock,
	Step,
} from "./replay/index.ts";
export { knownModel } from "./replay/known-model.ts";
export { loadReplay } from "./replay/load.ts";
export { requestOf } from "./replay/policies/append-only.ts";
export { sharedStart } from "./replay/shared-start.ts";
export type { Block, Breakpoint, PromptTokens, Request, Ttl } from "./request.ts";
export { createRewriteCredit } from "./rewrite-credit.ts";
export {
	bindsThinking,
	type CacheRules,
	isCold,
	type ModelInfo,
	rulesFor,
	type SinceLastRequest,
} from "./rules.ts";
export { type PruneDecision, shouldPrune } from "./should-prune.ts";
export {
	type ReorganiseDecision,
	type ReorganiseTerms,
	shouldReorganise,
} from "./should-reorganise.ts";
export { type Billed, createCacheSimulator, simulate } from "./simulate.ts";
