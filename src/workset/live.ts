/** Loaded on first use: most sessions have no working set. */
export { runTiers, runWorkset } from "./commands.ts";
export { filesIn } from "./copy-text.ts";
export { holdBackShown, inOneMessage, planNow, turnEndDrafts } from "./plan.ts";
export { tiersView } from "./report.ts";
export { withMarkers, withWorkset } from "./request.ts";
export {
	countRequest,
	noteAnswered,
	noteEdit,
	openWorkset,
	refreshFiles,
	refreshMap,
	wantsMap,
} from "./workset.ts";
