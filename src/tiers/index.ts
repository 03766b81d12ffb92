/** Tiers: content is ordered by how long it has stayed unchanged, so that provider caches keep hitting. */
export { type AnthropicBlock, type AnthropicBody, anthropicBody } from "./anthropic-body.ts";
export { assemble, type Prompt, type PromptMessage } from "./assemble.ts";
export { placeByTier } from "./by-tier.ts";
export { fileHash, historyHash, symbolHash } from "./content-hash.ts";
export {
	type Controller,
	type ControllerOptions,
	createController,
	type TierRequest,
} from "./controller.ts";
export { type Item, symbolKey, type TrackedItem } from "./item.ts";
export { readLitellmSettings } from "./litellm-config.ts";
export { logPolicy } from "./replay/log-policy.ts";
export { tiersPolicy } from "./replay/tiers-policy.ts";
export type { Referenced } from "./seed.ts";
export { type ItemState, type TierState, TierStateError } from "./state.ts";
export {
	createStateFile,
	type LoadedState,
	type StateFile,
	type StateFileOptions,
	TIER_STORE,
	tierStateFolder,
} from "./state-file.ts";
export type { PromptItem } from "./tier-text.ts";
export { CACHED_TIERS, type CachedTier, cacheTargetTokens, TIERS, type Tier } from "./tiers.ts";
export {
	createTracker,
	type Seeds,
	type Tracker,
	type TrackerOptions,
	type TrackerUpdate,
} from "./tracker.ts";
