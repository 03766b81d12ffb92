import { policiesWithBirth } from "../../birth/index.ts";
import { describeError } from "../../core/errno.ts";
import type { Config } from "../../core/settings.ts";
import { serveJobs } from "../../core/worker-entry.ts";
import { knownModel, type ReplayReport } from "../../economy/replay/index.ts";
import { type PruneSettings, pruningPolicy } from "../../pruning/index.ts";

export interface ReplayJob {
	readonly file: string;
	/** The file's name in the report and in errors. */
	readonly shownAs: string;
	readonly prune: PruneSettings;
	readonly birth: Config["birth"];
}

serveJobs<ReplayJob, ReplayReport>(async ({ file, shownAs, prune, birth }) => {
	try {
		const tools = await import("../../economy/replay/index.ts");
		const { readSessions, resultTextOf } = await import("../../importers/index.ts");
		const sessions = await readSessions(file, { detail: "texts" });
		// The same policies as `strata replay` uses without `--policy`.
		const { usual: policies } = policiesWithBirth(pruningPolicy(prune), resultTextOf, birth);
		const { reports } = tools.replaySessions(sessions, { policies, modelFor: knownModel });
		const report = tools.joinReports(reports);
		if (!report)
			throw new Error(
				`${shownAs} has no request with token counts from a provider, so nothing to replay`,
			);
		return { ...report, file: shownAs };
	} catch (error) {
		// Read errors contain the path, which may be a temporary file.
		throw new Error(describeError(error).replaceAll(file, shownAs));
	}
});
