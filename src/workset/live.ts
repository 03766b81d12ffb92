/** Loaded on first use, since most sessions have no working set. */
export { runTiers, runWorkset } from "./commands.ts";
export { filesIn } from "./copy-text.ts";
export { inOneMessage, planNow, restorePendingEdits, turnEndEntries } from "./plan.ts";
export { tiersView } from "./report.ts";
export { withBreakpoints, withWorkset } from "./request.ts";
export { Workset } from "./workset.ts";
