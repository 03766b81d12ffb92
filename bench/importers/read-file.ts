import type { FileJob } from "../../src/core/file-workers.ts";
import { readSessions } from "../../src/importers/index.ts";

/** What a worker of `strata replay` does before it replays. Returns the number of entries. */
export async function readFile({ path }: FileJob): Promise<number> {
	const sessions = await readSessions(path);
	return sessions.reduce((sum, { entries }) => sum + entries.length, 0);
}
