/** What agents' session files cost: by day, model, agent and project, with the causes of misses. */

export { GROUPINGS, groupRows, UsageAccount } from "./account.ts";
export { USAGE_STORE, UsageCache, usageFolder } from "./cache.ts";
export { sinceOf, startOfDay } from "./period.ts";
export { type FailedFile, scanUsage } from "./scan.ts";
export {
	csvText,
	dearestText,
	statusLine,
	summaryText,
	tableText,
} from "./usage-text.ts";
