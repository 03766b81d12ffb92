/** The working set: files in every request, always current, laid out for cache hits. */
export { logPolicy } from "./replay-policy.ts";
export { selectionOf } from "./selection.ts";
