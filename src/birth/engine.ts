/** The engine alone. A hook of an agent starts with every call of a tool, so it loads nothing else. */
export { Birth, type ShortResult } from "./birth.ts";
export { createLoudMatcher } from "./loud.ts";
export { expand } from "./reference.ts";
export { type CallResult, isWorthIt, nameOf } from "./result.ts";
export { defaultBirth } from "./settings.ts";
