/**
 * Tiers: content is ordered by how long it has stayed unchanged, so that provider caches keep hitting. A controller ranks
 * files, symbols and history request by request; `assemble` lays a prompt out by tier.
 */
export { assemble, type PromptItem, placeByTier } from "./assemble.ts";
export { createController } from "./controller.ts";
export { symbolHash, symbolKey, TIERS, type Tier, type TrackedItem } from "./item.ts";
export { readLitellmSettings } from "./litellm-config.ts";
export { tiersPolicy } from "./replay-policy.ts";
export { createStateFile, TIER_STORE, tierStateFolder } from "./state-file.ts";
