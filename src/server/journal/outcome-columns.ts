import type { Response } from "../../protocol/index.ts";
import type { FinishedCommand, SessionRecord, StoredCommand, StreamName } from "./journal.ts";
import type { JournalRecord, SessionColumns } from "./messages.ts";

/** An outcome as it is found in memory, and as it is written. */
export interface OutcomeRecord {
	readonly stored: StoredCommand;
	readonly record: JournalRecord;
	readonly bytes: number;
	/** The stream that ends with the session, and its last number. */
	readonly ended: { readonly stream: StreamName; readonly last: number } | undefined;
}

/** `lastOf` is asked for the last event number of a session that is deleted. */
export function outcomeRecord(
	outcome: FinishedCommand,
	changing: boolean,
	maxBytes: number,
	lastOf: (stream: StreamName) => number,
): OutcomeRecord {
	const { response: _response, json: _json, version, session, removed, ...command } = outcome;
	const { response, json } = keptOutcome(outcome, changing, maxBytes);
	const { data: _data, ...withoutData } = response;
	const columns = session && columnsOf(session);
	const ended = removed === undefined ? undefined : endOf(command.principal, removed, lastOf);
	return {
		stored: { ...command, response },
		record: {
			kind: "outcome",
			command,
			changing,
			outcome: json,
			response: withoutData,
			version,
			session: columns,
			removed: ended && { sessionId: ended.stream.sessionId, last: ended.last },
		},
		bytes: json.length + (columns?.settings.length ?? 0),
		ended,
	};
}

/** Skips one number, so that a client at the last event sees a gap before the next session's events. */
function endOf(principal: string, sessionId: string, lastOf: (stream: StreamName) => number) {
	const stream = { principal, sessionId };
	const last = lastOf(stream);
	return { stream, last: last === 0 ? 0 : last + 1 };
}

export function columnsOf(session: SessionRecord): SessionColumns {
	return { ...session, settings: JSON.stringify(session.settings) };
}

/** Drops data that is too large. The success of a change is kept; otherwise a client would repeat it. */
function keptOutcome(
	{ response, json = JSON.stringify(response) }: FinishedCommand,
	changing: boolean,
	maxBytes: number,
): { response: Response; json: string } {
	// Approximate: the UTF-16 length may be less than the byte count, but counting reads the text again.
	if (json.length <= maxBytes) return { response, json };
	const { data: _data, ...rest } = response;
	const short: Response = changing
		? { ...rest, ...(rest.error && { error: rest.error.slice(0, 1_000) }) }
		: {
				type: "response",
				command: response.command,
				success: false,
				code: "failed",
				error: `the outcome of this ${response.command} was too large to keep: send the command again with a new id`,
			};
	return { response: short, json: JSON.stringify(short) };
}
