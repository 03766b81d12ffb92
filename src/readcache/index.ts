/**
 * The read cache: a file the model provably still has in view is answered with a marker or a small diff. Every
 * doubt ends in pi's own answer.
 */
export { INVALIDATION_ENTRY } from "../core/entry-types.ts";
export { createExcludedValues, type ExcludedValues } from "./excluded-values.ts";
export { fileTouchOf, touchesExcluded } from "./file-touch.ts";
export {
	returnedHash,
	type ShownElsewhere,
	type ShownFile,
} from "./history.ts";
export { isEditingTool, noteOwnEdit } from "./own-edit.ts";
export {
	createReadCache,
	type PlainRead,
	type ReadCache,
	type ReadCall,
	type ReadResult,
} from "./read-cache.ts";
export { addressedPath, parseShorthand, pathCandidates } from "./read-path.ts";
export {
	invalidationFor,
	parseRefreshCall,
	parseRefreshCommand,
	type RefreshRequest,
} from "./refresh.ts";
export { formatStatus, type Status, statusOf } from "./status.ts";
export { createReadCacheStore, readCacheFolder } from "./store.ts";
