import type { StartupRecovery } from "../../../protocol/index.ts";
import { formatNumberOf } from "../format.ts";

/** What a server found when it started. Of one that found nothing it is not known whether there was another before it. */
export function startWords({
	crashed,
	sessions,
}: Pick<StartupRecovery, "crashed" | "sessions">): string {
	if (!crashed && sessions === 0) return "It began without sessions.";
	const ended = crashed ? "did not shut down in order" : "had shut down in order";
	const left = formatNumberOf(sessions, "session was", "sessions were");
	return `The process before it ${ended}; ${left} there.`;
}
