/** Pruning: old tool output is replaced by a stub that says how to read it back, when that pays. */
export { pruningPolicy } from "./replay-policy.ts";
export type { PruneSettings } from "./strictness.ts";
export { callOf, isStub } from "./stub.ts";
