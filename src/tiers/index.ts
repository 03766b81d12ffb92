/** Tiers order content by how long it has stayed unchanged, so that caches keep hitting. */
export { assemble, type PromptItem, placeByTier } from "./assemble.ts";
export { createController } from "./controller.ts";
export { symbolKey, TIERS, type Tier, type TrackedItem } from "./item.ts";
export { readLitellmSettings } from "./litellm-config.ts";
export { tiersPolicy } from "./replay-policy.ts";
export { createStateFile, TIER_STORE, tierStateFolder } from "./state-file.ts";
