/** The real session that policies are measured on, at several prices of cached reads; and the settings they have by default. */
import { loadConfig } from "../../src/core/config.ts";
import { rulesFor } from "../../src/economy/index.ts";
import {
	type ReplaySession,
	readSessionFile,
	rebuildRequests,
} from "../../src/economy/replay/index.ts";

/** What a token read from a cache costs, as a share of the input price. */
export const READ_RATIOS = [0.1, 0.05, 0.025];

const nowhere = new URL("none", import.meta.url).pathname;

/** The settings of pruning where nobody has set any. */
export const { prune: pruneSettings } = loadConfig({ agentDir: nowhere, cwd: nowhere }).config;

/** The requests of a session file, billed as Claude's are; `readRatio`: at another price of reads. */
export async function replayTrace(file: string, readRatio?: number): Promise<ReplaySession> {
	return rebuildRequests(await readSessionFile(file), (name) => ({
		name,
		rules: rulesFor(name, readRatio === undefined ? {} : { readRatio }),
		prices: undefined,
		contextWindow: 200_000,
	}));
}
