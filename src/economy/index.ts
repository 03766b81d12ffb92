/** What requests cost by the providers' rules, why caches miss, and when a rewrite pays. */
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
export { findModel, knownModel, knownModels } from "./model-prices.ts";
export { placeBreakpoints, requestOf } from "./place-breakpoints.ts";
export {
	type Block,
	type Breakpoint,
	type PromptTokens,
	type Request,
	sharedStart,
	type Ttl,
} from "./request.ts";
export {
	createRewriteCredit,
	type PruneDecision,
	type ReorganiseDecision,
	type ReorganiseTerms,
	shouldPrune,
	shouldReorganise,
} from "./rewrite.ts";
export {
	bindsThinking,
	type CacheRules,
	isCold,
	type ModelInfo,
	rulesFor,
	type SinceLastRequest,
} from "./rules.ts";
export { type Billed, createCacheSimulator, simulate } from "./simulate.ts";
