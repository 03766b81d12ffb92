/** Tiers order content by how long it has stayed unchanged, so that the start of a prompt stays cached. */
export { assemble, type PromptItem, placeByTier } from "./assemble.ts";
export { TierController } from "./controller.ts";
export { symbolKey, TIERS, type Tier, type TrackedItem } from "./item.ts";
export { readLitellmSettings } from "./litellm-config.ts";
export { tiersPolicy } from "./replay-policy.ts";
export { TIER_STORE, TierStateFile, tierStateFolder } from "./state-file.ts";
