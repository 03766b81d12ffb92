/** What requests cost by the providers' rules, why caches miss, and when a rewrite pays. */
export { type CostlyMiss, createAccount } from "./live/account.ts";
export {
	canCarryMarker,
	MAX_MARKERS,
	markersIn,
	simulated,
	withExtraMarker,
} from "./live/payload.ts";
export { requestOf } from "./place-breakpoints.ts";
export { type Block, type Request, sharedStart } from "./request.ts";
export { createRewriteCredit, shouldPrune, shouldReorganise } from "./rewrite.ts";
export { createCacheSimulator } from "./simulate.ts";
