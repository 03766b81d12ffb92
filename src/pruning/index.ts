/** Pruning: old tool output is replaced by a stub that says how to read it back, when that pays. */

export type { PruneSettings } from "./pruner.ts";
export { pruningPolicy } from "./replay-policy.ts";
export { callOf, isStub } from "./stub.ts";
