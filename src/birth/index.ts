/** Shortens tool results before a model sees them for the first time. Pure. */
export { Birth, type BirthParts } from "./birth.ts";
export { Dedupe } from "./dedupe.ts";
export { quiet } from "./quiet.ts";
export { expand, type PlacedReference } from "./reference.ts";
export { birthPolicies, policiesWithBirth } from "./replay-policy.ts";
export { type CallResult, isShell } from "./result.ts";
export { BIRTH_VERSION, type BirthSettings, defaultBirth } from "./settings.ts";
