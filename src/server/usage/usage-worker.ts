import { serveJobs } from "../../core/worker-entry.ts";
import type { Data } from "../../protocol/index.ts";
import { startOfDay } from "../../usage/index.ts";
import { knownFiles, knownUsage } from "../../usage/known-usage.ts";
import { usageView } from "./usage-view.ts";

/** The session files of pi, which may have owners; or what all files but `hidden` say. */
export type UsageJob =
	| { readonly read: "files" }
	| {
			readonly read: "usage";
			readonly days?: number | undefined;
			readonly hidden: readonly string[];
	  };

export interface UsageAnswer {
	readonly ofPi?: readonly string[];
	readonly report?: Data<"UsageReport">;
}

serveJobs<UsageJob, UsageAnswer>(async (job) => {
	const { env } = process;
	if (job.read === "files") return { ofPi: (await knownFiles(env)).ofPi };
	const { days } = job;
	const hidden = new Set(job.hidden);
	const sinceMs = days === undefined ? undefined : startOfDay(Date.now(), days - 1);
	const usage = await knownUsage({ env, sinceMs, isHidden: (file) => hidden.has(file) });
	return { report: usageView(usage) };
});
