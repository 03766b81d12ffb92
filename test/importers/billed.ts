import { knownModel, rebuildRequests } from "../../src/economy/replay/index.ts";
import { type ImportedSession, readSessions } from "../../src/importers/index.ts";

/** What each request of a file was billed: input, read, write. */
export async function billedIn(file: string): Promise<number[][]> {
	return (await readSessions(file)).flatMap((session) => billsOf(session));
}

/** Without copies of requests in `seen`. */
export function billsOf(session: ImportedSession, seen = new Set<string>()): number[][] {
	return rebuildRequests(session, knownModel, { seen })
		.bills.filter(({ isCopy }) => !isCopy)
		.map(({ billed }) => [billed.input, billed.read, billed.write]);
}

/** The kinds of the blocks in each request. */
export function kindsOf(session: ImportedSession): string[][] {
	const steps = [...rebuildRequests(session, knownModel).steps()];
	return steps.map(({ blocks }) => blocks.map(({ kind }) => kind));
}

/** What changed before each request. */
export function changesOf(session: ImportedSession): string[][] {
	return [...rebuildRequests(session, knownModel).steps()].map(({ changes }) => [...changes]);
}
