/** Drives the provider's own clearing of old tool results; `economy/clearing.ts` decides when. */

export { clearedIn } from "./applied.ts";
export { callsIn, withClearing } from "./edit.ts";
