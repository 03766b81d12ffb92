import { billedRequests } from "./billed.ts";
import type { ModelName, SessionEntries } from "./entry.ts";
import type { ReplayPolicy } from "./policies.ts";
import { buildReport, type ReplayReport, type SessionLabel } from "./report.ts";
import { countedBills, type ReplayModel, rebuildRequests } from "./requests.ts";

interface ReplaySessionsOptions {
	readonly policies: readonly ReplayPolicy[];
	readonly modelFor: (name: ModelName) => ReplayModel;
	/** Requests that earlier sessions counted. Default: none. */
	readonly seen?: Set<string>;
	/** Called with the policy in progress. */
	readonly onProgress?: (policy: string) => void;
}

/** What became of the sessions of a file. */
export interface ReplayedSessions {
	/** Of the sessions that have requests of their own. */
	readonly reports: readonly ReplayReport[];
	/** All billed requests, copies included. */
	readonly billed: number;
}

/** Replays the sessions of one file in order. Each request counts in one session only. */
export function replaySessions(
	sessions: readonly (SessionEntries & SessionLabel)[],
	{ policies, modelFor, seen = new Set(), onProgress }: ReplaySessionsOptions,
): ReplayedSessions {
	const reports: ReplayReport[] = [];
	let billed = 0;
	for (const { session: id, subagent, ...entries } of sessions) {
		const session = rebuildRequests(entries, modelFor, { seen });
		billed += session.bills.length;
		if (countedBills(session).length === 0) continue;
		const label = {
			...(id !== undefined && { session: id }),
			...(subagent !== undefined && { subagent }),
		};
		reports.push(buildReport(session, { ...label, policies, ...(onProgress && { onProgress }) }));
	}
	return { reports, billed };
}

/** The ids that `replaySessions` would add to `seen`: of all requests that have one. */
export function requestIdsIn(sessions: readonly SessionEntries[]): Set<string> {
	const ids = new Set<string>();
	for (const { entries } of sessions) for (const _ of billedRequests(entries, ids));
	return ids;
}
