export { dependencies } from "./dependencies.ts";
export { impact } from "./impact.ts";
export { search } from "./search.ts";
export { symbolMap } from "./symbol-map.ts";
export { taskContext } from "./task-context.ts";
export type { Uncovered } from "./uncovered.ts";
export { usages } from "./usages.ts";
