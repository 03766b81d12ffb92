import type { HistoryEntry, HistoryQuery, StoredCommand } from "./journal.ts";

/** The history from the disk, with the commands of which the memory knows better. Newest first. */
export function withUnwritten(
	stored: readonly HistoryEntry[],
	unwritten: readonly StoredCommand[],
	query: HistoryQuery,
): HistoryEntry[] {
	const recent = unwritten.filter((command) => isAsked(command, query)).map(historyEntry);
	const ids = new Set(recent.map(({ commandId }) => commandId));
	return [...recent.reverse(), ...stored.filter(({ commandId }) => !ids.has(commandId))]
		.sort((a, b) => b.atMs - a.atMs)
		.slice(0, query.limit);
}

function isAsked(command: StoredCommand, query: HistoryQuery): boolean {
	return (
		(query.sessionId === undefined || command.sessionId === query.sessionId) &&
		(query.commandId === undefined || command.id === query.commandId) &&
		command.atMs >= (query.fromMs ?? 0) &&
		command.atMs <= (query.toMs ?? Number.MAX_SAFE_INTEGER)
	);
}

/** A command as the history shows it. */
export function historyEntry(command: StoredCommand): HistoryEntry {
	const { id, type, sessionId, atMs, finishedAtMs, response } = command;
	return {
		commandId: id,
		commandType: type,
		...(sessionId === undefined ? {} : { sessionId }),
		atMs,
		...(finishedAtMs === undefined ? {} : { finishedAtMs }),
		...(response === undefined ? {} : { success: response.success }),
		...(response?.error === undefined ? {} : { error: response.error }),
		...(response?.code === undefined ? {} : { code: response.code }),
		...(response?.sessionVersion === undefined ? {} : { sessionVersion: response.sessionVersion }),
	};
}
