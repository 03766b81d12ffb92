/** Prices requests by the providers' rules, finds causes of cache misses, and decides when a rewrite pays. */

export { CacheSimulator } from "./cache-simulator.ts";
export { CostAccount, type PricedMiss } from "./live/account.ts";
export {
	breakpointsIn,
	canCarryBreakpoint,
	MAX_BREAKPOINTS,
	withExtraBreakpoint,
} from "./live/breakpoints.ts";
export { type Block, type ModelRequest, sharedStart } from "./model-request.ts";
export { requestForStep } from "./place-breakpoints.ts";
export { requestOfPieces } from "./request-of-pieces.ts";
export { createRewriteCredit, shouldPrune, shouldReorganise } from "./rewrite.ts";
