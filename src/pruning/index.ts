/** If it pays, pruning replaces old tool output with a stub that names the stored original. */

export type { PruneSettings } from "./pruner.ts";
export { pruningPolicy } from "./replay-policy.ts";
export { callOf, isStub } from "./stub.ts";
