import { JournalUnavailable, SessionLost } from "../journal/journal.ts";
import type { Failure } from "./outcome.ts";

export const SHUTTING_DOWN: Failure = {
	code: "shutting_down",
	error: "The server is shutting down: connect again later.",
};

export const NOT_JSON: Failure = {
	code: "failed",
	error: "The command ran, but its result cannot be written as JSON.",
};

export const INTERRUPTED_WAITING: Failure = {
	code: "interrupted",
	error:
		"The server stopped before this command started; it had no effect. Use a new id to try again.",
};

export const INTERRUPTED_RUNNING: Failure = {
	code: "interrupted",
	error:
		"The server stopped while this command was running. It may or may not have had an effect: check the session, then use a new id.",
};

export const BUSY: Failure = {
	code: "busy",
	error: "The server has too many commands in flight: try again in a moment.",
};

/** For a change that ran, although the journal could not store its outcome. */
export const NOT_DURABLE: Failure = {
	code: "not_durable",
	error:
		"The command ran and took effect, but the journal could not record it: after a restart the server may not know of it. Check the session, and do not send the command under a new id.",
};

/** For a failed change: after a crash, or if another server takes the session, its outcome is another one. */
export const FAILURE_NOT_RECORDED: Failure = {
	code: "not_durable",
	error:
		"The command failed, but the journal could not record that: repeat it under the same id in a moment to learn why, and do not send it under a new id.",
};

/** For a repeated read. Its first answer was too long to keep, and reading again gave a different one. */
export const ANSWER_GONE: Failure = {
	code: "answer_gone",
	error:
		"This read was already answered. The answer was too long to keep, and the data has changed since. Use a new id to read the current data.",
};

export const JOURNAL_UNREADABLE: Failure = {
	code: "journal_unavailable",
	error:
		"The journal cannot be read, so the server cannot tell whether this command ran before. Reads still work.",
};

/** For a change whose outcome is missing from both the journal and memory. */
export const OUTCOME_NOT_KEPT: Failure = {
	code: "interrupted",
	error:
		"The outcome of this command could not be stored. It may or may not have had an effect: check the session, then use a new id.",
};

export const answerTooLarge = (characters: number, max: number): Failure => ({
	code: "too_large",
	error: `The answer has ${characters} characters, but this server sends at most ${max}. Request less (for example get_entries with "since"), or raise the server's maxAnswerBytes.`,
});

export const tooManyPending = (max: number): Failure => ({
	code: "busy",
	error: `This connection has ${max} commands in flight, which is the maximum: wait for responses.`,
});

export const rateLimited = (perMinute: number, waitMs: number): Failure => ({
	code: "rate_limited",
	error: `You sent more than ${perMinute} commands in a minute: try again in ${waitMs} ms.`,
});

export const timeout = (afterMs: number): Failure => ({
	code: "timeout",
	error: `The command took longer than ${afterMs} ms and was aborted. It may still have had an effect: check the session, then use a new id.`,
	timedOut: true,
});

export const turnTimeout = (afterMs: number): Failure => ({
	code: "timeout",
	error: `The command waited longer than ${afterMs} ms for its turn and never started. Use a new id to try again.`,
	timedOut: true,
});

export const dependencyTimeout = (afterMs: number): Failure => ({
	code: "dependency_timeout",
	error: `The dependencies of the command did not finish within ${afterMs} ms. Use a new id to try again.`,
});

export const journalUnavailable = (why: string): Failure => ({
	code: "journal_unavailable",
	error: `Changes are not accepted, because they cannot be made durable: ${why}. Reads still work.`,
});

export function notRecorded(thrown: unknown): Failure {
	if (thrown instanceof SessionLost) return SESSION_LOST;
	if (!(thrown instanceof JournalUnavailable)) return journalUnavailable("the journal failed");
	return thrown.code === "busy"
		? { code: "busy", error: `The command was not started: ${thrown.message}.` }
		: journalUnavailable(thrown.message);
}

/** For a command whose session another server has, or took while it was in flight. Clients see it only without links. */
export const SESSION_LOST: Failure = {
	code: "busy",
	error: "Another server has this session: repeat the command under the same id in a moment.",
	moved: "elsewhere",
};

export const noFolder = (id: string): Failure => ({
	code: "wrong_state",
	error: `No server has the folder of session "${id}": start one that has it, or one with --workspace for it.`,
	moved: "refused",
});

/** For a command that waits for the server that has its session. */
export const WAITING_FULL: Failure = {
	code: "busy",
	error: "Too many commands wait for the server that has this session: try again in a moment.",
};

export const ownerTimeout = (wasSent: boolean): Failure =>
	wasSent
		? {
				code: "timeout",
				error:
					"The server that has this session cannot be reached. The command may have had an effect: repeat it under the same id to learn its outcome.",
			}
		: {
				code: "busy",
				error:
					"The server that has this session cannot be reached: repeat the command in a moment.",
			};

export const notTrusted = (principal: string): Failure => ({
	code: "forbidden",
	error: `The server that has this session knows no token of "${principal}": add one with "strata tokens add".`,
});

/** For a read: another server may have changed the session. */
export const LEASE_OVER: Failure = {
	code: "journal_unavailable",
	error:
		"The database has not confirmed that this server still has the session: try again in a moment.",
};

/** For a command that another server has in flight. */
export const IN_FLIGHT_ELSEWHERE: Failure = {
	code: "busy",
	error: "Another server has this command in flight: repeat it under the same id in a moment.",
};

export function notClaimed(thrown: unknown): Failure {
	const why =
		thrown instanceof JournalUnavailable ? thrown.message : "the database does not answer";
	return {
		code: "journal_unavailable",
		error: `The server cannot tell which server has this session: ${why}.`,
	};
}

export const idConflict = (id = ""): Failure => ({
	code: "id_conflict",
	error: `id "${id}" was used for a command with different content: use a new id for this one.`,
});

export const keyConflict = (key = ""): Failure => ({
	code: "key_conflict",
	error: `idempotencyKey "${key}" was used for a command with different content: use a new key for this one.`,
});

export const dependsOnItself = (id: string): Failure => ({
	code: "dependency_cycle",
	error: `The command depends on itself: "${id}" is its own id.`,
});

/** `evictedBeforeMs`: commands from before this time may have been evicted; 0 if none was. */
export function dependencyUnknown(id: string, evictedBeforeMs: number): Failure {
	const advice =
		evictedBeforeMs > 0
			? `commands from before ${new Date(evictedBeforeMs).toISOString()} may have been evicted`
			: "a command can only depend on earlier commands, named by their ids";
	return { code: "dependency_unknown", error: `Dependency "${id}" is not known: ${advice}.` };
}

export const dependencyFailed = (id: string): Failure => ({
	code: "dependency_failed",
	error: `Dependency "${id}" failed.`,
});

export const unknownSession = (id: string): Failure => ({
	code: "unknown_session",
	error: `There is no session "${id}": create or load it first.`,
});

export const versionMismatch = (id: string, version: number, expected: number): Failure => ({
	code: "version_mismatch",
	error: `Session "${id}" is at version ${version}, not ${expected}: check it, then send the command again with a new id.`,
	sessionVersion: version,
});
