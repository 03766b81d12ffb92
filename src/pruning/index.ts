/** Pruning replaces old tool output by a stub that names the stored original, when that pays. */

export type { PruneSettings } from "./pruner.ts";
export { pruningPolicy } from "./replay-policy.ts";
export { callOf, isStub } from "./stub.ts";
