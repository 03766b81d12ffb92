/** The working set: files that stand in every request, always as they are now, laid out so that caches keep hitting. */
export { logPolicy } from "./replay-policy.ts";
export { selectionOf } from "./selection.ts";
