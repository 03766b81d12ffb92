export { costOf, dollarsOf } from "./cost.ts";
export { type Coldness, isCold, type SinceLastRequest } from "./is-cold.ts";
export {
	type Account,
	type AccountSummary,
	type CostlyMiss,
	createAccount,
} from "./live/account.ts";
export { accountText, missText } from "./live/account-text.ts";
export { canCarryMarker, MAX_MARKERS, markersIn } from "./live/anthropic-markers.ts";
export { type Answered, diagnoseMiss, type Miss, type MissCause } from "./live/miss.ts";
export { isSamePiece, type PayloadBlock, payloadBlocks, simulated } from "./live/payload.ts";
export type { RewriteTerms } from "./lot-size.ts";
export { findModel, knownModels } from "./model-prices.ts";
export { type Placement, placeBreakpoints } from "./place-breakpoints.ts";
export type {
	FolderReport,
	ReplayModel,
	ReplayPolicy,
	ReplayReport,
	ReplaySession,
	SessionBlock,
	Step,
} from "./replay/index.ts";
export { loadReplay } from "./replay/load.ts";
export { requestOf } from "./replay/policies/append-only.ts";
export type { Block, Breakpoint, Part, PromptTokens, Request, Setting, Ttl } from "./request.ts";
export { createRewriteCredit, type RewriteCredit } from "./rewrite-credit.ts";
export {
	type CacheFamily,
	type CacheRules,
	type ModelInfo,
	type ModelPrices,
	type PriceRates,
	rulesFor,
} from "./rules.ts";
export { type PruneDecision, type PruneTerms, shouldPrune } from "./should-prune.ts";
export {
	type ReorganiseDecision,
	type ReorganiseTerms,
	shouldReorganise,
} from "./should-reorganise.ts";
export { type Billed, type CacheSimulator, createCacheSimulator, simulate } from "./simulate.ts";
